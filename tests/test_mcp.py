"""The MCP server, driven by the official client; without the SDK these tests are skipped by name."""

import asyncio
import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import ltr
from ltr.errors import FileError, UsageError
from ltr.extras import install_line
from ltr.serving.mcp import FIND, MOST_TOOLS, checked_call, tools_found
from tests.made import tool_rows, written

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of ten tools."""
    home = tmp_path_factory.mktemp("mcp")
    ltr.train(written(home / "samples.jsonl", tool_rows(range(25))), out=home / "run", encoder="hash")
    return home / "run"


def driven(run, calls, *arguments):
    """What `calls`, a coroutine of an official client's session, returns; the server is a process of its own."""
    pytest.importorskip("mcp", reason="the extra mcp is not installed: the official client cannot drive the server")
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    async def session():
        command = ["-m", "ltr", "mcp", str(run), *map(str, arguments)]
        server = StdioServerParameters(command=sys.executable, args=command, cwd=ROOT)
        async with stdio_client(server) as streams, ClientSession(*streams) as client:
            await client.initialize()
            return await calls(client)

    return asyncio.run(session())


def test_a_client_lists_calls_sends_bad_input_and_calls_a_thousand_times(run):
    pytest.importorskip("mcp", reason="the extra mcp is not installed: the official client cannot drive the server")
    from mcp import MCPError

    async def calls(client):
        listed = await client.list_tools()
        found = await client.call_tool("find_tools", {"query": "what is the weather?", "k": 2})
        errors = []
        for name, arguments in (
            ("find_tools", {}),
            ("find_tools", {"query": 7}),
            ("find_tools", {"query": "x", "k": 0}),
            ("find_tools", {"query": "x", "limit": 3}),
            ("nonsense", {"query": "x"}),
        ):
            with pytest.raises(MCPError) as error:
                await client.call_tool(name, arguments)
            errors.append((error.value.code, error.value.message))
        names = set()
        for number in range(1000):
            result = await client.call_tool("find_tools", {"query": f"what is the mail in {number}?", "k": 1})
            names.add(result.structured_content["tools"][0]["name"])
        long = await client.call_tool("find_tools", {"query": "mail " * 200_000, "k": 1})
        return listed, found, errors, names, long

    listed, found, errors, names, long = driven(run, calls)
    assert [tool.name for tool in listed.tools] == ["find_tools"]
    expected = [choice.candidate for choice in ltr.load(run).rank("what is the weather?", k=2)]
    assert [tool["name"] for tool in found.structured_content["tools"]] == expected
    assert json.loads(found.content[0].text) == found.structured_content
    assert {code for code, _ in errors} == {-32602}
    problems = ["query is null", "query is 7", "k is 0", "unknown argument 'limit'", "unknown tool 'nonsense'"]
    assert all(problem in message for problem, (_, message) in zip(problems, errors, strict=True))
    assert names == {"get_mail"}
    assert len(long.structured_content["tools"]) == 1


def test_lines_that_are_no_messages_get_an_error_and_the_server_goes_on(run):
    pytest.importorskip("mcp", reason="the extra mcp is not installed: there is no server to start")
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    lines = [
        "garbage",
        "[]",
        '{"jsonrpc": "2.0", "id": 7}',
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        '{"jsonrpc": "2.0", "id": 2, "method": "nonsense"}',
        '{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": 7}}',
        "\x00\x01",
        '{"jsonrpc": "2.0", "id": 4, "method": "tools/list"}',
    ]
    command = [sys.executable, "-m", "ltr", "mcp", str(run)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, text=True) as server:
        server.stdin.write("".join(f"{line}\n" for line in lines))
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(8)]
        server.stdin.close()
        assert server.wait(timeout=60) == 0
    codes = [answer["error"]["code"] for answer in answers if "error" in answer]
    assert sorted(codes) == [-32700, -32700, -32700, -32700, -32602, -32601]
    assert {answer["id"] for answer in answers if "result" in answer} == {1, 4}


def test_a_server_takes_several_catalogues(run, tmp_path):
    one = written(tmp_path / "one.jsonl", [{"name": "get_mail", "description": "gives the mail"}])
    two = written(tmp_path / "two.jsonl", [{"name": "bare"}])

    async def calls(client):
        return await client.call_tool("find_tools", {"query": "mail?"})

    found = driven(run, calls, "--tools", one, "--tools", two).structured_content["tools"]
    assert [(tool["name"], tool["description"]) for tool in found] == [("get_mail", "gives the mail"), ("bare", "")]


def test_a_name_in_two_catalogues_is_refused_before_a_client_waits(run, cli, tmp_path):
    one, two = (written(tmp_path / f"{name}.jsonl", [{"name": "get_mail"}]) for name in ("one", "two"))
    assert cli.run("mcp", run, "--tools", one, "--tools", two) != 0
    assert "found 'get_mail', which another catalogue has" in cli.err


def test_without_the_sdk_the_command_says_what_to_install(run, monkeypatch):
    from ltr.serving.mcp import serve

    monkeypatch.setitem(sys.modules, "mcp_types", None)
    with pytest.raises(UsageError, match=re.escape(install_line("mcp"))):
        serve(ltr.load(run))


@pytest.mark.parametrize(
    "arguments, problem",
    [
        (None, "query is null"),
        ({"query": "  "}, "query is '  '"),
        ({"query": "x", "k": True}, "k is true"),
        ({"query": "x", "k": MOST_TOOLS + 1}, "from 1 to 100"),
        ({"query": "x" * (1 << 20) + "x"}, "1,048,577 characters"),
    ],
)
def test_arguments_that_cannot_be_are_refused(arguments, problem):
    with pytest.raises(UsageError, match=problem):
        checked_call(FIND, arguments)


def test_an_answer_is_what_the_router_says(run):
    router = ltr.load(run)
    found = asyncio.run(tools_found(router, "mail?", 3))["tools"]
    assert [(tool["name"], tool["probability"]) for tool in found] == [
        (choice.candidate, choice.probability) for choice in router.rank("mail?", k=3)
    ]
    assert all(set(tool) == {"name", "description", "inputs", "probability"} for tool in found)


def test_a_missing_catalogue_is_one_clear_line(run, tmp_path):
    from ltr.catalogues import all_tools

    with pytest.raises(FileError, match="none.json"):
        all_tools([tmp_path / "none.json"])


HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
GREETING = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
)
QUESTION = {"name": "find_tools", "arguments": {"query": "what is the mail?", "k": 1}}


@contextmanager
def server_of(run):
    """The server as a process, after the greeting."""
    pytest.importorskip("mcp", reason="the extra mcp is not installed: there is no server to start")
    command = [sys.executable, "-m", "ltr", "mcp", str(run)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as server:
        try:
            server.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in GREETING))
            server.stdin.flush()
            assert json.loads(server.stdout.readline())["id"] == 1
            yield server
        finally:
            server.kill()


def request(number, padding=0):
    """A line that asks for a tool; so many bytes say nothing."""
    call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": QUESTION}
    return json.dumps(call).encode() + b" " * padding + b"\n"


def peak_of(server):
    """The most memory, in MB, that the process held so far."""
    lines = Path(f"/proc/{server.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
@pytest.mark.parametrize("sent", [0, 2000])
def test_a_signal_ends_the_server_at_once_whether_it_waits_or_works(run, number, code, sent):
    with server_of(run) as server:
        os.set_blocking(server.stdin.fileno(), False)
        with suppress(BlockingIOError):  # of 2,000 it takes what it answers: nobody reads the answers
            for place in range(sent):
                server.stdin.raw.write(request(place))
        server.stdout.read1(1) if sent else None
        server.send_signal(number)
        assert server.wait(timeout=30) == code
        assert server.stderr.read() == b""


@pytest.mark.parametrize("sent", [0, 100])
def test_a_client_that_dies_ends_the_server_in_silence(run, sent):
    with server_of(run) as server:
        server.stdin.write(b"".join(map(request, range(sent))))
        server.stdin.flush()
        server.stdout.close()
        server.stdin.close()
        assert server.wait(timeout=30) == 0
        assert server.stderr.read() == b""


def test_a_line_beyond_the_limit_is_answered_and_let_go(run):
    with server_of(run) as server:
        before = peak_of(server)
        server.stdin.write(b'{"jsonrpc": "2.0", "id": 2, "method": "')
        for _ in range(200):
            server.stdin.write(b"x" * (1 << 20))
        server.stdin.write(b'"}\n' + request(3))
        server.stdin.flush()
        long, good = json.loads(server.stdout.readline()), json.loads(server.stdout.readline())
        assert (long["id"], long["error"]) == (None, {"code": -32700, "message": "the line is longer than 8 MiB"})
        assert good["result"]["structuredContent"]["tools"][0]["name"] == "get_mail"
        assert peak_of(server) < before + 64


def test_the_longest_query_fits_into_a_line_however_it_is_escaped(run):
    question = {"name": "find_tools", "arguments": {"query": "é" * (1 << 20), "k": 1}}
    line = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": question})
    with server_of(run) as server:
        server.stdin.write(line.encode() + b"\n")
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["result"]["structuredContent"]["tools"]


def test_requests_of_a_client_that_does_not_read_wait_in_its_own_pipe_and_are_answered_once_it_reads(run):
    number, padding = 600, 100_000
    content = b"".join(request(place, padding) for place in range(number))
    with server_of(run) as server:
        os.set_blocking(server.stdin.fileno(), False)
        taken = 0
        while taken < len(content) and select.select([], [server.stdin], [], 3)[1]:  # until the server reads no more
            taken += os.write(server.stdin.fileno(), content[taken : taken + (1 << 16)])
        assert taken < len(content) / 2
        os.set_blocking(server.stdin.fileno(), True)
        rest = threading.Thread(target=lambda: (server.stdin.write(content[taken:]), server.stdin.close()))
        rest.start()
        assert [json.loads(line)["id"] for line in server.stdout] == [*range(number)]
        rest.join()
        assert server.wait(timeout=30) == 0
