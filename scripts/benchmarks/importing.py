"""Lines a CPU second and peak memory of each importer, on logs as long as asked.

The logs are made here: conversations of a few turns, 20 tools on the table, spans of a trace scattered over lines.
Each importer runs in a process of its own.
"""

import argparse
import csv
import json
import random
import sys
import tempfile
import time
from pathlib import Path

import typer  # noqa: F401 - what every command loads is no part of the memory of importing

from benchmarks.resources import in_own_process, peak_mb
from subcommands import at_least

TOOLS = [f"tool_{number}" for number in range(20)]
WORDS = [
    "rain",
    "mail",
    "Paris",
    "tomorrow",
    "report",
    "table",
    "city",
    "price",
    "train",
    "hotel",
    "meeting",
    "invoice",
]
DAY = 1_767_322_800  # seconds since 1970


def options(parser):
    """Options of the command line."""
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help=f"(default: {' '.join(WRITERS)})")
    parser.add_argument("--lines", type=at_least(10), default=100_000, help="of each log (default: %(default)s)")
    parser.add_argument("--measure", nargs=2, metavar=("FORMAT", "FILE"), help=argparse.SUPPRESS)


def main(*, formats, lines, measure):
    """A line for each format."""
    if measure:
        print(json.dumps(figures(*measure)))
        return 0
    if unknown := [name for name in formats if name not in WRITERS]:
        sys.exit(f"no log is made for {', '.join(unknown)}; known: {', '.join(WRITERS)}")
    print(f"{'':13} {'lines':>9} {'bytes/line':>10} {'lines/CPU s':>11} {'MB/CPU s':>8} {'peak MB':>8} {'groups':>9}")
    for name in formats or WRITERS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"log{'.csv' if name == 'csv' else ''}")
            WRITERS[name](path, lines, random.Random(0))
            size = path.stat().st_size
            process = in_own_process("importing", "--measure", name, path)
            if process.returncode:
                sys.exit(process.stderr)
            seconds, megabytes, groups = json.loads(process.stdout)
        speed = f"{lines / seconds:11,.0f} {size / 1e6 / seconds:8.1f}"
        print(f"{name:13} {lines:9,} {size / lines:10.0f} {speed} {megabytes:8.0f} {groups:9,}", flush=True)
    return 0


def figures(name, path):
    """CPU seconds, peak MB above what the importer's modules take, and groups."""
    from ltr.data.importers.import_samples import import_samples
    from ltr.data.importers.registry import IMPORTERS

    _ = IMPORTERS[name].summary
    before, start = peak_mb(), time.process_time()
    summary = import_samples(name, [path], f"{path}.jsonl")
    return time.process_time() - start, peak_mb() - before, summary.groups


def said(draw):
    """What a user says."""
    return " ".join(draw.choices(WORDS, k=8))


def schema(name):
    """A tool as OpenAI lists it."""
    parameters = {"type": "object", "properties": {"city": {"type": "string"}, "day": {"type": "string"}}}
    return {"type": "function", "function": {"name": name, "description": f"{name} does it.", "parameters": parameters}}


def write_csv(path, lines, draw):
    """A row is a candidate; ten of a query."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["trace_id", "node_id", "query", "tool", "label"])
        for number in range(lines):
            rows.writerow(
                [number // 50, number // 10, f"query {number // 10}, {WORDS[0]}", TOOLS[number % 10], number % 10 == 3]
            )


def write_lists(path, lines, draw):
    """A line is a user with 20 items."""
    with path.open("w") as file:
        for user in range(lines):
            items = [[f"i{item}", round(1 / (place + 2), 4)] for place, item in enumerate(draw.sample(range(1000), 20))]
            file.write(json.dumps({"user": user, "recommendations": items, "truth": f"i{user % 1000}"}) + "\n")


def write_letor(path, lines, draw):
    """A line is a document with ten features; 20 of a query, whose sizes stand in the side file."""
    features = [" ".join(f"{n}:{draw.random():.4f}" for n in range(1, 11)) for _ in range(1000)]
    path.write_text("".join(f"{number % 3} {features[number % 1000]}\n" for number in range(lines)))
    sizes = [20] * (lines // 20) + ([lines % 20] if lines % 20 else [])
    Path(f"{path}.query").write_text("".join(f"{size}\n" for size in sizes))


def steps(lines, draw):
    """What each span of a log is: its trace, its place there, its tool, and what was said so far; two of a call."""
    for number in range(0, lines, 10):
        query = said(draw)
        for step in range(10):
            yield number // 10, step, draw.choice(TOOLS), query


def scattered(path, rows, draw):
    """The lines in blocks of 1,000, each shuffled: spans come when they end, not in order."""
    with path.open("w") as file:
        block = []
        for row in rows:
            block.append(json.dumps(row) + "\n")
            if len(block) == 1000:
                draw.shuffle(block)
                file.writelines(block)
                block = []
        draw.shuffle(block)
        file.writelines(block)


def write_otel(path, lines, draw):
    """A line is TracesData with one span: of a model, then of its tool."""
    tools = {f"llm.tools.{at}.tool.json_schema": json.dumps(schema(name)) for at, name in enumerate(TOOLS)}

    def row(trace, step, tool, query):
        attributes = {"openinference.span.kind": "TOOL", "tool.name": tool}
        if step % 2 == 0:
            call = "llm.output_messages.0.message.tool_calls.0.tool_call"
            attributes = {
                "openinference.span.kind": "LLM",
                "llm.input_messages.0.message.role": "user",
                "llm.input_messages.0.message.content": query,
                "llm.output_messages.0.message.role": "assistant",
                f"{call}.id": f"c{step}",
                f"{call}.function.name": tool,
                f"{call}.function.arguments": "{}",
            } | tools
        span = {
            "traceId": f"{trace:032x}",
            "spanId": f"{trace:08x}{step:08x}",
            "parentSpanId": "",
            "name": "ChatCompletion" if step % 2 == 0 else f"execute_tool {tool}",
            "startTimeUnixNano": f"{DAY + step}000000000",
            "endTimeUnixNano": f"{DAY + step}900000000",
            "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
            "status": {},
        }
        return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": [span]}]}]}

    scattered(path, (row(*step) for step in steps(lines, draw)), draw)


def write_langfuse(path, lines, draw):
    """A line is an observation: a generation, then its tool."""
    definitions = {name: json.dumps(schema(name)["function"]) for name in TOOLS}

    def row(trace, step, tool, query):
        ids = {"id": f"{trace}-{step}", "traceId": f"t{trace}", "parentObservationId": None, "level": "DEFAULT"}
        times = {"startTime": f"2026-01-02T03:04:{step:02}.000Z", "endTime": f"2026-01-02T03:04:{step:02}.900Z"}
        if step % 2:
            return ids | times | {"type": "TOOL", "name": tool, "input": "{}", "output": "done"}
        call = json.dumps({"id": f"c{step}", "name": tool, "arguments": "{}"})
        given = {"input": {"messages": [{"role": "user", "content": query}]}, "output": None}
        columns = {"toolDefinitions": definitions, "toolCalls": [call], "toolCallNames": [tool]}
        return ids | times | {"type": "GENERATION", "name": "chat"} | given | columns

    scattered(path, (row(*step) for step in steps(lines, draw)), draw)


def write_langsmith(path, lines, draw):
    """A line is a run: of a model, then of its tool."""
    tools = [schema(name) for name in TOOLS]

    def row(trace, step, tool, query):
        ids = {"id": f"{trace}-{step}", "trace_id": f"t{trace}", "parent_run_id": f"t{trace}", "error": None}
        times = {"start_time": f"2026-01-02T03:04:{step:02}", "end_time": f"2026-01-02T03:04:{step:02}.900"}
        if step % 2:
            return ids | times | {"run_type": "tool", "name": tool, "inputs": {}, "outputs": {"output": "done"}}
        human = {"lc": 1, "type": "constructor", "id": ["langchain", "HumanMessage"], "kwargs": {"content": query}}
        calls = [{"name": tool, "args": {}, "id": f"c{step}"}]
        answer = {"lc": 1, "type": "constructor", "id": ["langchain", "AIMessage"]}
        answer |= {"kwargs": {"content": "", "tool_calls": calls}}
        model = {"run_type": "llm", "name": "ChatOpenAI", "inputs": {"messages": [[human]]}}
        model |= {"outputs": {"generations": [[{"text": "", "message": answer}]]}}
        return ids | times | model | {"extra": {"invocation_params": {"tools": tools}}}

    scattered(path, (row(*step) for step in steps(lines, draw)), draw)


def write_mlflow(path, lines, draw):
    """A line is a trace: a model, then its tool."""
    tools = [schema(name) for name in TOOLS]

    def span(number, kind, name, inputs, outputs, **more):
        told = {"mlflow.spanType": kind, "mlflow.spanInputs": inputs, "mlflow.spanOutputs": outputs} | more
        times = {"start_time_unix_nano": number * 10**9, "end_time_unix_nano": number * 10**9 + 1}
        ids = {"trace_id": "a", "span_id": f"s{number}", "parent_span_id": "", "name": name}
        return ids | times | {"attributes": {key: json.dumps(value) for key, value in told.items()}}

    with path.open("w") as file:
        for number in range(lines):
            tool = draw.choice(TOOLS)
            message = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": tool, "arguments": "{}"}}]}
            given = {"messages": [{"role": "user", "content": said(draw)}]}
            model = span(
                1, "CHAT_MODEL", "chat", given, {"choices": [{"message": message}]}, **{"mlflow.chat.tools": tools}
            )
            spans = [model, span(2, "TOOL", tool, {}, "done")]
            file.write(json.dumps({"info": {"trace_id": f"tr-{number}"}, "data": {"spans": spans}}) + "\n")


def write_atif(path, lines, draw):
    """A line is a trajectory of one call and its result."""
    agent = {"name": "a", "tool_definitions": [schema(name) for name in TOOLS]}
    with path.open("w") as file:
        for number in range(lines):
            called = [{"tool_call_id": "c", "function_name": draw.choice(TOOLS), "arguments": {}}]
            observation = {"results": [{"source_call_id": "c", "content": "done"}]}
            step = {"step_id": 2, "source": "agent", "message": "", "tool_calls": called, "observation": observation}
            steps = [{"step_id": 1, "source": "user", "message": said(draw)}, step]
            about = {"schema_version": "ATIF-v1.6", "session_id": f"s{number}", "agent": agent}
            file.write(json.dumps(about | {"steps": steps}) + "\n")


def as_lines(rows):
    """A writer of the rows, a line each."""

    def write(path, lines, draw):
        with path.open("w") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows(lines, draw))

    return write


def chat_completions(lines, draw):
    """Requests of Chat Completions with their responses, in conversations of four requests."""
    tools = list(map(schema, TOOLS))
    queries = []
    for line in range(lines):
        turn, messages = line % 4, [{"role": "system", "content": "You help."}]
        queries = [said(draw) for _ in range(4)] if turn == 0 else queries
        for before in range(turn):
            call = {"id": "c", "type": "function", "function": {"name": TOOLS[before], "arguments": "{}"}}
            messages += [
                {"role": "user", "content": queries[before]},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c", "content": "done"},
            ]
        messages.append({"role": "user", "content": queries[turn]})
        call = {"id": "c", "type": "function", "function": {"name": TOOLS[line % 20], "arguments": '{"a": 1}'}}
        answer = {"role": "assistant", "content": None, "tool_calls": [call]}
        response = {"id": f"r{line}", "choices": [{"message": answer, "finish_reason": "tool_calls"}]}
        yield {"request": {"messages": messages, "tools": tools}, "response": response}


def chat_messages(lines, draw):
    """Requests of Messages with their responses."""
    tools = [{"name": name, "description": f"{name} does it.", "input_schema": {}} for name in TOOLS]
    queries = []
    for line in range(lines):
        turn, messages = line % 4, []
        queries = [said(draw) for _ in range(4)] if turn == 0 else queries
        for before in range(turn):
            call = {"type": "tool_use", "id": "c", "name": TOOLS[before], "input": {}}
            result = {"type": "tool_result", "tool_use_id": "c", "content": "done"}
            messages += [
                {"role": "user", "content": queries[before]},
                {"role": "assistant", "content": [call]},
                {"role": "user", "content": [result]},
            ]
        messages.append({"role": "user", "content": queries[turn]})
        call = {"type": "tool_use", "id": "c", "name": TOOLS[line % 20], "input": {"a": 1}}
        response = {"id": f"r{line}", "content": [call], "stop_reason": "tool_use"}
        yield {"request": {"messages": messages, "tools": tools}, "response": response}


def traces_of_graphs(lines, draw):
    """Traces of four nodes, a decision at each, a trace a line; their tools have no texts."""
    for line in range(lines):
        nodes = {node: {"task": said(draw)} for node in "abcd"}
        decisions = [{"node": node, "candidates": TOOLS, "chosen": TOOLS[line % 20]} for node in nodes]
        edges = [["a", "b"], ["b", "c"], ["b", "d"]]
        yield {"trace_id": f"t{line}", "nodes": nodes, "edges": edges, "decisions": decisions}


WRITERS = {
    "openai": as_lines(chat_completions),
    "anthropic": as_lines(chat_messages),
    "calling-trees": as_lines(traces_of_graphs),
    "csv": write_csv,
    "lists": write_lists,
    "letor": write_letor,
    "otel": write_otel,
    "langfuse": write_langfuse,
    "langsmith": write_langsmith,
    "mlflow": write_mlflow,
    "atif": write_atif,
}
