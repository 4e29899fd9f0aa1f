"""Tool pools and the calling graphs made with them: decisions at the nodes of a graph.

`tool_pool.json` describes the tools, `tool_calling_graphs.json` holds traces: nodes with tasks, edges between them,
and at some nodes a decision: which of the candidates was chosen. A trace may also stand on a line of its own.
"""

from collections.abc import Iterator, Mapping, Sequence

from ltr.data.importers.conversations import Call, Conversation, Message, Tool
from ltr.data.importers.file_beginning import Opening, read_opening
from ltr.data.importers.groups_from_conversations import decisions
from ltr.data.importers.json_objects import Object, id_text, log_objects, objects, text_or_empty
from ltr.data.importers.offered_tools_and_calls import NO_TOOL, usable_tools
from ltr.data.importers.past import LONGEST_PAST
from ltr.data.importers.registry import Imported, importer
from ltr.data.importers.tally import Tally
from ltr.errors import UsageError

NO_ID = "traces without a trace_id"
NO_TRACE = "objects that are no trace with nodes and decisions"
NO_NODE = "decisions at a node that the trace does not have"
NO_CHOICE = "decisions that name no chosen tool"
UNDECIDED = "nodes without a decision"
NOT_IN_POOL = "candidates that the tool pool does not describe"


def is_calling_trees(opening: Opening) -> bool:
    """Whether the first value is a tool pool, or traces."""
    return _is_pool(opening.document) or _is_traces(opening.document)


def _is_pool(document: object) -> bool:
    return isinstance(document, dict) and isinstance(document.get("tools"), dict) and "messages" not in document


def _is_traces(document: object) -> bool:
    if not isinstance(document, dict):
        return False
    first = next(iter(objects(document.get("traces"))), document)
    return isinstance(first.get("nodes"), dict) and isinstance(first.get("decisions"), list)


@importer("calling-trees", title="a tool pool, or calling graphs made with one", looks_like=is_calling_trees)
def import_calling_trees(files: Sequence[str]) -> Imported:
    """A group for each decision of tool_calling_graphs.json; tool_pool.json gives the texts of the tools."""
    tally = Tally()
    pools = [path for path in files if _is_pool(read_opening(path).document)]
    traces = [path for path in files if path not in pools]
    if not traces:
        remedy = "name the file of the calling graphs beside it, or name it with --tools beside samples"
        raise UsageError(f"{', '.join(pools)}: a tool pool alone; {remedy}")
    notes = () if pools else ("no tool pool among the files: the tools have no texts",)
    return Imported(decisions(_conversations(traces, _pool(pools, tally), tally), tally), notes, tally)


def _pool(files: Sequence[str], tally: Tally) -> dict[str, Tool]:
    """The tools of the pools by name."""
    pool: dict[str, Tool] = {}
    for _, document in log_objects(files, tally):
        pool.update((tool.name, tool) for tool in usable_tools(document)[0])
    return pool


def _conversations(files: Sequence[str], pool: Mapping[str, Tool], tally: Tally) -> Iterator[Conversation]:
    """A conversation for each decision: what was chosen at the nodes before, the task, the choice."""
    for place, document in log_objects(files, tally):
        for trace in objects(document["traces"]) if isinstance(document.get("traces"), list) else [document]:
            nodes, decided = trace.get("nodes"), objects(trace.get("decisions"))
            trace_id = id_text(trace.get("trace_id"))
            if not isinstance(nodes, dict) or not isinstance(trace.get("decisions"), list):
                tally.skip(NO_TRACE, place)
            elif not trace_id:
                tally.skip(NO_ID, place)
            else:
                yield from _of_trace(trace_id, trace, f"{place} trace {trace_id[:40]}", pool, tally)
                with_decision = {id_text(decision.get("node")) for decision in decided}
                tally.remark(UNDECIDED, place, len(nodes.keys() - with_decision))


def _of_trace(
    trace_id: str, trace: Object, place: str, pool: Mapping[str, Tool], tally: Tally
) -> Iterator[Conversation]:
    nodes, decided = trace["nodes"], objects(trace["decisions"])
    choices = [(id_text(decision.get("node")), _chosen(decision)) for decision in decided]
    parents = _parents(trace.get("edges"))
    for decision, (node, chosen) in zip(decided, choices, strict=True):
        if node not in nodes:
            tally.skip(NO_NODE, place)
            continue
        if not chosen:
            tally.skip(NO_CHOICE, place)
            continue
        listed = decision.get("candidates")
        names = _names(listed if isinstance(listed, list) else [])
        tally.remark(NO_TOOL, place, len(listed) - len(names) if isinstance(listed, list) else 0)
        tally.remark(NOT_IN_POOL, place, sum(name not in pool for name in names) if pool else 0)
        before = _ancestors(node, parents)
        earlier = [Call(name) for other, tools in choices if other in before for name in tools]
        task = nodes[node].get("task") if isinstance(nodes[node], dict) else nodes[node]
        yield Conversation(
            messages=(
                Message(role="answer", calls=tuple(earlier)),
                Message(role="user", text=text_or_empty(task)),
                Message(role="answer", calls=tuple(map(Call, chosen)), node_id=node),
            ),
            place=place,
            trace_id=trace_id,
            tools=tuple(pool.get(name, Tool(name)) for name in names),
            decided=1,
        )


def _chosen(decision: Object) -> list[str]:
    chosen = decision.get("chosen")
    return _names(chosen if isinstance(chosen, list) else [chosen])


def _names(values: Sequence[object]) -> list[str]:
    """The values that can name a tool."""
    return [value for value in values if isinstance(value, str) and value.strip()]


def _parents(edges: object) -> dict[str, list[str]]:
    """The nodes that an edge leads from, by the node that it leads to."""
    parents: dict[str, list[str]] = {}
    for edge in edges if isinstance(edges, list) else []:
        ends = [edge.get("source"), edge.get("target")] if isinstance(edge, dict) else edge
        if isinstance(ends, list) and len(ends) == 2 and all(map(id_text, ends)):
            parents.setdefault(id_text(ends[1]), []).append(id_text(ends[0]))
    return parents


def _ancestors(node: str, parents: Mapping[str, Sequence[str]]) -> set[str]:
    """The nodes from which edges lead to the node, however far, without itself; edges may run in a circle."""
    ancestors: set[str] = set()
    waiting = [node]
    while waiting and len(ancestors) < LONGEST_PAST:
        new = [parent for parent in parents.get(waiting.pop(), ()) if parent not in ancestors]
        ancestors.update(new)
        waiting += new
    return ancestors - {node}
