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
from importlib.util import find_spec

from processes import memory_mb, run, start
from stresses.attacks import Figure, scratch
from stresses.mutated_inputs import changed
from subcommands import at_least
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
    draw, answered = random.Random(seed), 0
    with scratch(is_loaded=False):
        written("s.jsonl", tool_rows(range(20)))
        run(*["train", "s.jsonl", "-o", "run", "--encoder", "hash", "-q"], check=True)
        server = Server()
        for first in range(0, number, AT_ONCE):
            for place in range(first, min(number, first + AT_ONCE)):
                server.send(hostile(draw, place))
            answer = server.ask(f"good-{first}")
            answered += bool(answer and answer.get("result", {}).get("structuredContent", {}).get("tools"))
            if server.process.poll() is not None or server.problems:
                break
        server.process.stdin.close()
        code = server.process.wait(timeout=60)
        problems = server.problems + long_line() + no_reading() + [each for end in ENDS for each in ending(end)]
    questions = -(-number // AT_ONCE)
    text = f"{number:,} hostile lines, {answered} of {questions} questions between them answered, exit {code}; "
    text += f"of a line of {LONG} MB, no reading, two signals and a dying client {len(problems)} wrong"
    print(*problems[:5], sep="\n", end="\n" if problems else "")
    return Figure(text, is_good=answered == questions and code == 0 and not problems)


class Server:
    """A server that has answered the greeting, and what went wrong with it."""

    def __init__(self):
        self.problems = []
        self.process = start("mcp", "run", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.ask(0, "initialize", HELLO)
        self.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')

    def send(self, content):
        """Write a line."""
        try:
            self.process.stdin.write(content + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return

    def ask(self, number, method="tools/call", parameters=CALL):
        """Return the answer to the request; what comes before it are answers to others."""
        self.send(request(number, method, parameters))
        while line := self.process.stdout.readline():
            try:
                answer = json.loads(line)
            except ValueError:
                self.problems.append(f"it printed {line[:100]!r}")
                return None
            if isinstance(answer, dict) and answer.get("id") == number:
                return answer
        self.problems.append("it ended")
        return None


def long_line():
    """Return what goes wrong with a line that never seems to end."""
    server = Server()
    before = memory_mb("VmHWM", server.process.pid)
    for _ in range(LONG):
        server.process.stdin.write(b"x" * 1_000_000)
    server.send(b"")
    server.ask(1)
    grown = memory_mb("VmHWM", server.process.pid) - before
    server.process.kill()
    return server.problems + ([f"a line of {LONG} MB took {grown:.0f} MB"] if grown > MOST_MB else [])


def no_reading():
    """Return what goes wrong where nobody reads the answers: the server may not read on without end."""
    server = Server()
    content = b"".join(request(n, "tools/call", CALL) + PADDING + b"\n" for n in range(UNREAD))
    os.set_blocking(server.process.stdin.fileno(), False)
    taken = 0
    while taken < len(content) and select.select([], [server.process.stdin], [], 5)[1]:
        taken += os.write(server.process.stdin.fileno(), content[taken : taken + (1 << 16)])
    server.process.kill()
    return server.problems + (["it read all requests of a client that does not read"] * (taken == len(content)))


def ending(number):
    """Return what goes wrong where the server is to end at the signal, or with its client, while it works."""
    server = Server()
    for place in range(50):
        server.send(request(place, "tools/call", CALL))
    server.process.stdout.close() if number is None else server.process.send_signal(number)
    try:
        server.process.stdin.close() if number is None else None
        code = server.process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        server.process.kill()
        code = server.process.wait()
    name, said = "a dying client" if number is None else number.name, server.process.stderr.read()
    problems = [f"{name}: it ended with {code}"] if code != ENDS[number] else []
    return server.problems + problems + ([f"{name}: it printed {said[-200:]!r}"] if said else [])


def request(number, method, parameters):
    """Return a request as a line."""
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}).encode()


def hostile(draw, number):
    """Return a line: a request with a value changed, its bytes damaged, or something huge, deep or foreign."""
    methods = {"tools/call": CALL, "tools/list": {}, "initialize": HELLO}
    good = [json.loads(request(number, method, parameters)) for method, parameters in methods.items()]
    good.append({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    content = json.dumps(changed(draw, draw.choice(good))).encode()
    match draw.randrange(10):
        case 0:
            content = damaged(draw, content)
        case 1:
            content = b"[" * draw.choice([10, 2000, 100_000])
        case 2:
            long = {"query": "map " * draw.choice([10, 300_000]), "k": 1}
            content = request(number, "tools/call", CALL | {"arguments": long})
        case 3:
            foreign = [b"", b"\x00\x01", b"\xff\xfe", b"null", b"3", b"[]", b'"x"', b"GET / HTTP/1.1", b"{}"]
            content = draw.choice(foreign)
    return content.replace(b"\n", b" ").replace(b"\r", b" ")
