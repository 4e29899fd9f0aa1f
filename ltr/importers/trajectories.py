"""Whole conversations of agents in one document: ATIF's trajectories, and calling graphs with their tool pool."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from ltr.errors import UsageError
from ltr.importers.conversations import LONGEST_PAST, Call, Conversation, Message, Role, Tool, decisions
from ltr.importers.frame import Imported, Opening, Tally, importer, read_opening
from ltr.importers.logs import (
    NANOSECONDS,
    NO_TOOL,
    Object,
    answer_of,
    at,
    call_of,
    content_text,
    id_text,
    log_objects,
    nanoseconds,
    objects,
    result_of,
    table_of,
    text_or_empty,
    usable_tools,
)

# ATIF, the format of Harbor: one conversation a document, its tools given once.

SOURCES: Mapping[object, Role] = {"user": "user", "agent": "answer", "system": "instruction"}
NO_TRAJECTORY = "values that are no trajectory"
COPIED = "answers copied from an earlier trajectory"
UNKNOWN_SOURCE = "steps of an unknown source, left out"


def is_atif(opening: Opening) -> bool:
    """Whether the first value is a trajectory."""
    return text_or_empty(at(opening.document, "schema_version")).startswith("ATIF-")


@importer("atif", title="an ATIF trajectory", looks_like=is_atif)
def import_atif(files: Sequence[str]) -> Imported:
    """A group for each step of an agent; trajectories of sub-agents inside it are conversations of their own."""
    tally = Tally()
    return Imported(decisions(_trajectories(files, tally), tally), tally=tally)


def _trajectories(files: Sequence[str], tally: Tally) -> Iterator[Conversation]:
    for place, document in log_objects(files, tally):
        waiting = [(document, "")]
        while waiting:
            inner, trace_id = waiting.pop()
            if not isinstance(inner.get("steps"), list):
                tally.skip(NO_TRAJECTORY, place)
                continue
            own = text_or_empty(inner.get("trajectory_id"))
            session = text_or_empty(inner.get("session_id")) or own  # the same in files that go on, named -cont-N
            trace_id = trace_id or session or PurePath(place).name
            messages: list[Message] = []
            for number, step in enumerate(objects(inner["steps"]), start=1):
                messages += _step(step, f"{own or session} step {step.get('step_id', number)}", tally, place)
            table, _ = table_of(at(inner, "agent.tool_definitions") or [], None, tally, place)
            yield Conversation(messages=tuple(messages), place=place, trace_id=trace_id, tools=table)
            waiting += [(below, trace_id) for below in reversed(objects(inner.get("subagent_trajectories")))]


def _step(step: Object, node_id: str, tally: Tally, place: str) -> Iterator[Message]:
    """The messages of a step: the results of its calls stand in it."""
    source, text = step.get("source"), content_text(step.get("message"))
    role = SOURCES.get(source) if isinstance(source, str) else None
    if role is None:
        tally.remark(UNKNOWN_SOURCE, place)
    elif role != "answer":
        yield Message(role=role, text=text)
    else:
        listed = objects(step.get("tool_calls"))
        calls = [call_of(call.get("function_name"), call.get("arguments"), call.get("tool_call_id")) for call in listed]
        start, is_copied = nanoseconds(step.get("timestamp")), step.get("is_copied_context") is True
        time = None if start is None else start / NANOSECONDS
        yield answer_of(text, [*filter(None, calls)], COPIED if is_copied else "", node_id=node_id, time=time)
        for result in objects(at(step, "observation.results")):
            yield result_of(result.get("content"), result.get("source_call_id"))


# Calling graphs: traces of nodes with tasks, edges between them, and at some nodes a decision, which of the candidates
# was chosen. `tool_pool.json` describes the tools; traces stand in `tool_calling_graphs.json`, or a line each.

NO_ID = "traces without a trace_id"
NO_TRACE = "objects that are no trace with nodes and decisions"
NO_NODE = "decisions at a node that the trace does not have"
NO_CHOICE = "decisions that name no chosen tool"
UNDECIDED = "nodes without a decision"
NOT_IN_POOL = "candidates that the tool pool does not describe"


def is_calling_trees(opening: Opening) -> bool:
    """Whether the first value is a tool pool, or traces."""
    document = opening.document
    traces = objects(at(document, "traces"))
    first = traces[0] if traces else document
    is_trace = isinstance(at(first, "nodes"), dict) and isinstance(at(first, "decisions"), list)
    return is_trace or _is_pool(document)


def _is_pool(document: object) -> bool:
    return isinstance(document, dict) and isinstance(document.get("tools"), dict) and "messages" not in document


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
    pool = {tool.name: tool for _, document in log_objects(pools, tally) for tool in usable_tools(document)[0]}
    return Imported(decisions(_graphs(traces, pool, tally), tally), notes, tally)


def _graphs(files: Sequence[str], pool: Mapping[str, Tool], tally: Tally) -> Iterator[Conversation]:
    for place, document in log_objects(files, tally):
        for trace in objects(document["traces"]) if isinstance(document.get("traces"), list) else [document]:
            nodes, trace_id = trace.get("nodes"), id_text(trace.get("trace_id"))
            if not isinstance(nodes, dict) or not isinstance(trace.get("decisions"), list):
                tally.skip(NO_TRACE, place)
            elif not trace_id:
                tally.skip(NO_ID, place)
            else:
                yield from _of_graph(trace_id, trace, f"{place} trace {trace_id[:40]}", pool, tally)
                with_decision = {id_text(decision.get("node")) for decision in objects(trace["decisions"])}
                tally.remark(UNDECIDED, place, len(nodes.keys() - with_decision))


def _of_graph(
    trace_id: str, trace: Object, place: str, pool: Mapping[str, Tool], tally: Tally
) -> Iterator[Conversation]:
    """A conversation for each decision: what was chosen at the nodes before, the task, the choice."""
    nodes, parents = trace["nodes"], _parents(trace.get("edges"))
    decided = [
        (id_text(entry.get("node")), _names(entry.get("chosen")), entry) for entry in objects(trace["decisions"])
    ]
    for node, chosen, decision in decided:
        if node not in nodes or not chosen:
            tally.skip(NO_CHOICE if node in nodes else NO_NODE, place)
            continue
        listed = decision["candidates"] if isinstance(decision.get("candidates"), list) else []
        names, before = _names(listed), _ancestors(node, parents)
        tally.remark(NO_TOOL, place, len(listed) - len(names))
        tally.remark(NOT_IN_POOL, place, sum(name not in pool for name in names) if pool else 0)
        earlier = tuple(Call(name) for other, tools, _ in decided if other in before for name in tools)
        task = nodes[node].get("task") if isinstance(nodes[node], dict) else nodes[node]
        said = Message(role="answer", calls=earlier), Message(role="user", text=text_or_empty(task))
        answer = Message(role="answer", calls=tuple(map(Call, chosen)), node_id=node)
        table = tuple(pool.get(name, Tool(name)) for name in names)
        yield Conversation(messages=(*said, answer), place=place, trace_id=trace_id, tools=table, decided=1)


def _names(values: object) -> list[str]:
    """The values that can name a tool, of a list or one alone."""
    listed = values if isinstance(values, list) else [values]
    return [value for value in listed if isinstance(value, str) and value.strip()]


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
    ancestors, waiting = set[str](), [node]
    while waiting and len(ancestors) < LONGEST_PAST:
        new = [parent for parent in parents.get(waiting.pop(), ()) if parent not in ancestors]
        ancestors.update(new)
        waiting += new
    return ancestors - {node}
