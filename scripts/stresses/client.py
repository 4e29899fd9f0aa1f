"""A hostile client of ltr mcp: lines that are no messages, wrong types anywhere, huge and deep values, and no reading.

The server answers each request that can be answered, prints nothing but messages, and answers a good client's question
afterwards. It lets a line of 200 MB go, reads no more of a client that does not read, and ends without a word at a
signal or where its client dies. Needs the package mcp. Ends with 1 when it does anything else.
"""

import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from stresses.cases import Figure
from stresses.mutated_inputs import changed
from subcommands import ROOT, at_least
from tests.made import damaged, tool_rows, written

AT_ONCE = 50  # lines between two questions of a good client
LONG, MOST_MB = 200, 64  # MB of a line, and by how much memory may grow for it
UNREAD, PADDING = 600, b" " * 100_000  # requests of a client that does not read
ENDS = {signal.SIGTERM: 143, signal.SIGINT: 130, None: 0}  # None: the client dies
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "hostile", "version": "1"}}
CALL = {"name": "find_tools", "arguments": {"query": "what is the map?", "k": 2}}


def options(parser):
    """Options of the command line."""
    parser.add_argument("number", nargs="?", type=at_least(1), default=2000, help="of lines (default: %(default)s)")
    parser.add_argument("--seed", type=at_least(0), default=0, help="of every line (default: %(default)s)")


def main(*, number, seed):
    """What the server did."""
    if find_spec("mcp") is None:
        return "the package mcp is not installed: pip install mcp"
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits that it is ignored
    draw, answered, problems = random.Random(seed), 0, []
    with tempfile.TemporaryDirectory() as folder:
        samples, run = written(Path(folder) / "s.jsonl", tool_rows(range(20))), Path(folder) / "run"
        ltr("train", samples, "-o", run, "--encoder", "hash", "-q").wait()
        server = ltr("mcp", run, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        ask(server, request(0, "initialize", HELLO), 0, problems)
        send(server, b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        for first in range(0, number, AT_ONCE):
            for place in range(first, min(number, first + AT_ONCE)):
                send(server, hostile(draw, place))
            question = f"good-{first}"
            answer = ask(server, request(question, "tools/call", CALL), question, problems)
            answered += bool(answer and answer.get("result", {}).get("structuredContent", {}).get("tools"))
            if server.poll() is not None or problems:
                break
        server.stdin.close()
        code = server.wait(timeout=60)
        problems += [problem for check in (long_line, no_reading, *map(ending, ENDS)) for problem in check(run)]
    questions = -(-number // AT_ONCE)
    text = f"{number:,} hostile lines, {answered} of {questions} questions between them answered, exit {code}; "
    text += f"of a line of {LONG} MB, no reading, two signals and a dying client {len(problems)} wrong"
    print(*problems[:5], sep="\n", end="\n" if problems else "")
    return Figure(text, is_good=answered == questions and code == 0 and not problems)


def greeted(run):
    """A server that has answered the greeting."""
    server, problems = ltr("mcp", run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE), []
    ask(server, request(0, "initialize", HELLO), 0, problems)
    send(server, b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
    return server, problems


def long_line(run):
    """What goes wrong with a line that never seems to end."""
    server, problems = greeted(run)
    before = peak_of(server)
    for _ in range(LONG):
        server.stdin.write(b"x" * 1_000_000)
    send(server, b"")
    ask(server, request(1, "tools/call", CALL), 1, problems)
    grown = peak_of(server) - before
    server.kill()
    return problems + ([f"a line of {LONG} MB took {grown:.0f} MB"] if grown > MOST_MB else [])


def no_reading(run):
    """What goes wrong where nobody reads the answers: the server may not read on without end."""
    server, problems = greeted(run)
    content = b"".join(json.dumps(request(n, "tools/call", CALL)).encode() + PADDING + b"\n" for n in range(UNREAD))
    os.set_blocking(server.stdin.fileno(), False)
    taken = 0
    while taken < len(content) and select.select([], [server.stdin], [], 5)[1]:
        taken += os.write(server.stdin.fileno(), content[taken : taken + (1 << 16)])
    server.kill()
    return problems + (["it read all requests of a client that does not read"] if taken == len(content) else [])


def ending(number):
    """A check of how the server ends at the signal, or with its client, while it works."""

    def check(run):
        server, problems = greeted(run)
        for place in range(50):
            send(server, json.dumps(request(place, "tools/call", CALL)).encode())
        server.stdout.close() if number is None else server.send_signal(number)
        try:
            server.stdin.close() if number is None else None
            code = server.wait(timeout=30)
        except subprocess.TimeoutExpired:
            server.kill()
            code = server.wait()
        name, said = "a dying client" if number is None else number.name, server.stderr.read()
        problems += [f"{name}: it ended with {code}"] if code != ENDS[number] else []
        return problems + ([f"{name}: it printed {said[-200:]!r}"] if said else [])

    return check


def peak_of(server):
    """The most memory, in MB, that the process held so far."""
    lines = Path(f"/proc/{server.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def ltr(*words, **pipes):
    """A command as a process."""
    command = [sys.executable, "-m", "ltr", *map(str, words)]
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} | pipes
    return subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, **pipes)


def request(number, method, parameters):
    """A request."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}


def hostile(draw, number):
    """A line: a request with a value changed, its bytes damaged, or something huge, deep or foreign."""
    good = [
        request(number, "tools/call", CALL),
        request(number, "tools/list", {}),
        request(number, "initialize", HELLO),
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}},
    ]
    content = json.dumps(changed(draw, draw.choice(good))).encode()
    kind = draw.randrange(10)
    if kind == 0:
        content = damaged(draw, content)
    elif kind == 1:
        content = b"[" * draw.choice([10, 2000, 100_000])
    elif kind == 2:
        long = CALL | {"arguments": {"query": "map " * draw.choice([10, 300_000]), "k": 1}}
        content = json.dumps(request(number, "tools/call", long)).encode()
    elif kind == 3:
        content = draw.choice([b"", b"\x00\x01", b"\xff\xfe", b"null", b"3", b"[]", b'"x"', b"GET / HTTP/1.1", b"{}"])
    return content.replace(b"\n", b" ").replace(b"\r", b" ")


def send(server, content):
    """A line to the server."""
    try:
        server.stdin.write(content + b"\n")
        server.stdin.flush()
    except BrokenPipeError:
        return


def ask(server, message, number, problems):
    """The answer to the request; what comes before it are answers to others."""
    send(server, json.dumps(message).encode())
    while line := server.stdout.readline():
        try:
            answer = json.loads(line)
        except ValueError:
            problems.append(f"it printed {line[:100]!r}")
            return None
        if isinstance(answer, dict) and answer.get("id") == number:
            return answer
    problems.append("it ended")
    return None
