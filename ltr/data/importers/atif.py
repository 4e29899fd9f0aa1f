"""Trajectories of agents in ATIF, the format of Harbor: one conversation a document, its tools given once."""

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from ltr.data.importers.conversations import Conversation, Message, content_text, looks_failed
from ltr.data.importers.file_beginning import Opening
from ltr.data.importers.groups_from_conversations import decisions
from ltr.data.importers.json_objects import Object, log_objects, objects, text_or_empty
from ltr.data.importers.log_timestamps import NANOSECONDS, nanoseconds
from ltr.data.importers.offered_tools_and_calls import call_of, table_of
from ltr.data.importers.registry import Imported, importer
from ltr.data.importers.tally import Tally

NO_TRAJECTORY = "values that are no trajectory"
COPIED = "answers copied from an earlier trajectory"
UNKNOWN_SOURCE = "steps of an unknown source, left out"


def is_atif(opening: Opening) -> bool:
    """Whether the first value is a trajectory."""
    document = opening.document
    return isinstance(document, dict) and text_or_empty(document.get("schema_version")).startswith("ATIF-")


@importer("atif", title="an ATIF trajectory", looks_like=is_atif)
def import_atif(files: Sequence[str]) -> Imported:
    """A group for each step of an agent; trajectories of sub-agents inside it are conversations of their own."""
    tally = Tally()
    return Imported(decisions(_conversations(files, tally), tally), tally=tally)


def _conversations(files: Sequence[str], tally: Tally) -> Iterator[Conversation]:
    for place, document in log_objects(files, tally):
        waiting = [(document, "")]
        while waiting:
            trajectory, trace_id = waiting.pop()
            if not isinstance(trajectory.get("steps"), list):
                tally.skip(NO_TRAJECTORY, place)
                continue
            conversation = _conversation(trajectory, trace_id, place, tally)
            yield conversation
            below = objects(trajectory.get("subagent_trajectories"))
            waiting += [(inner, conversation.trace_id) for inner in reversed(below)]


def _conversation(trajectory: Object, trace_id: str, place: str, tally: Tally) -> Conversation:
    """The steps as messages. A trajectory that goes on in files ending in -cont-N has one session."""
    agent = trajectory.get("agent")
    definitions = agent.get("tool_definitions") if isinstance(agent, dict) else None
    session = text_or_empty(trajectory.get("session_id")) or text_or_empty(trajectory.get("trajectory_id"))
    own = text_or_empty(trajectory.get("trajectory_id")) or session
    messages = [
        message
        for number, step in enumerate(objects(trajectory["steps"]), start=1)
        for message in _messages(step, f"{own} step {step.get('step_id', number)}", tally, place)
    ]
    return Conversation(
        messages=tuple(messages),
        place=place,
        trace_id=trace_id or session or PurePath(place).name,
        tools=table_of(definitions or [], tally, place),
    )


def _messages(step: Object, node_id: str, tally: Tally, place: str) -> Iterator[Message]:
    source, text = step.get("source"), content_text(step.get("message"))
    if source == "user":
        yield Message(role="user", text=text)
    elif source == "agent":
        yield _answer(step, text, node_id)
        yield from _results(step)
    elif source == "system":
        yield Message(role="instruction", text=text)
    else:
        tally.remark(UNKNOWN_SOURCE, place)


def _answer(step: Object, text: str, node_id: str) -> Message:
    listed = objects(step.get("tool_calls"))
    calls = [call_of(call.get("function_name"), call.get("arguments"), call.get("tool_call_id")) for call in listed]
    start = nanoseconds(step.get("timestamp"))
    return Message(
        role="answer",
        text=text,
        calls=tuple(call for call in calls if call),
        no_decision=COPIED if step.get("is_copied_context") is True else "",
        node_id=node_id,
        time=None if start is None else start / NANOSECONDS,
    )


def _results(step: Object) -> Iterator[Message]:
    """The results of the calls, which stand in the step that made them."""
    observation = step.get("observation")
    for result in objects(observation.get("results")) if isinstance(observation, dict) else []:
        text, call_id = content_text(result.get("content")), text_or_empty(result.get("source_call_id"))
        yield Message(role="result", text=text, call_id=call_id, is_error=looks_failed(text))
