"""A server of the Model Context Protocol on stdin and stdout: one tool, which finds tools."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, BinaryIO, Final

import msgspec

from ltr import __version__
from ltr.errors import LtrError, UsageError
from ltr.extras import install_line
from ltr.jsonl import excerpt
from ltr.serving import DEFAULT_K
from ltr.serving.router import Router
from ltr.signals import deferring
from ltr.streams import wire

FIND: Final = "find_tools"
MOST_TOOLS = 100  # in one answer
LONGEST_QUERY = 1 << 20  # characters
LONGEST_LINE = 8 << 20  # bytes: the longest query, escaped as \uXXXX, takes six a character
PART = 1 << 16  # bytes of a line beyond, which are let go
DESCRIPTION = "Finds the tools that fit a task. Call it with what is to be done; call one of the tools it names next."
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What is to be done, in the user's words.", "minLength": 1},
        "k": {"type": "integer", "description": "How many tools.", "minimum": 1, "maximum": MOST_TOOLS},
    },
    "required": ["query"],
    "additionalProperties": False,
}


def checked_call(tool: object, arguments: Mapping[str, Any] | None) -> tuple[str, int]:
    """Query and k of a call; an error says what is wrong.

    >>> checked_call("find_tools", {"query": "rain?"})
    ('rain?', 5)
    """
    if tool != FIND:
        raise UsageError(f"unknown tool {excerpt(tool)}; {FIND} is the only one")
    given = dict(arguments or {})
    query, k = given.pop("query", None), given.pop("k", DEFAULT_K)
    if given:
        raise UsageError(f"unknown argument {excerpt(next(iter(given)))}; {FIND} takes query and k")
    if not isinstance(query, str) or not query.strip():
        raise UsageError(f"query is {excerpt(query)}; a text is needed")
    if len(query) > LONGEST_QUERY:
        raise UsageError(f"the query has {len(query):,} characters; at most {LONGEST_QUERY:,} are read")
    if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= MOST_TOOLS:
        raise UsageError(f"k is {excerpt(k)}; a whole number from 1 to {MOST_TOOLS} is needed")
    return query, k


async def tools_found(router: Router, query: str, k: int) -> dict[str, object]:
    """The first k tools for the query, as the server answers."""
    answer = await router.arank(query, k=k)
    texts = router.tools or {}
    tools = [
        {
            "name": choice.candidate,
            "description": texts[choice.candidate].description,
            "inputs": texts[choice.candidate].inputs,
            "probability": choice.probability,
        }
        for choice in answer
    ]
    return {"tools": tools, **({} if answer.none is None else {"none": answer.none})}


def tool_server(router: Router) -> Any:
    """The server of the SDK, which knows the one tool."""
    import mcp_types as types
    from mcp import MCPError
    from mcp.server.lowlevel import Server

    async def list_tools(_context: Any, _params: Any) -> Any:
        return types.ListToolsResult(tools=[types.Tool(name=FIND, description=DESCRIPTION, input_schema=SCHEMA)])

    async def call_tool(_context: Any, params: Any) -> Any:
        try:
            answer = await tools_found(router, *checked_call(params.name, params.arguments))
        except LtrError as error:
            raise MCPError(code=types.INVALID_PARAMS, message=str(error)) from error
        text = types.TextContent(type="text", text=msgspec.json.encode(answer).decode())
        return types.CallToolResult(content=[text], structured_content=answer)

    return Server("ltr", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)


def serve(router: Router) -> None:
    """Answer a client on stdin and stdout until stdin ends. Whatever it sends, the next request is answered.

    One request at a time: the next one is read when the answer is written, so that what a client sends and does not
    fetch waits in its own pipes. The main thread reads and writes: there a signal ends the wait.
    """
    try:
        import anyio
        import mcp_types as types
        from mcp.shared.message import SessionMessage

        server = tool_server(router)
    except ImportError as error:
        raise UsageError(f"the official SDK is needed: {install_line('mcp')}") from error

    to_server, inbox = anyio.create_memory_object_stream[Any](0)
    outbox, from_server = anyio.create_memory_object_stream[Any](0)

    async def started() -> Any:
        return asyncio.create_task(server.run(inbox, outbox, server.create_initialization_options()))

    def not_read(problem: str) -> list[Any]:
        error = types.ErrorData(code=types.PARSE_ERROR, message=problem)
        return [types.JSONRPCError(jsonrpc="2.0", id=None, error=error)]

    async def replies(line: bytes | None) -> list[Any]:
        """What goes back for a line: for a request that ends with its answer, for no message an error."""
        if line is None:
            return not_read(f"the line is longer than {LONGEST_LINE >> 20} MiB")
        try:
            message = types.jsonrpc_message_adapter.validate_json(line.decode(errors="replace"), by_name=False)
        except ValueError:  # the SDK would drop it in silence
            return not_read("not a JSON-RPC message")
        await to_server.send(SessionMessage(message))
        sent: list[Any] = []
        if isinstance(message, types.JSONRPCRequest):
            async for item in from_server:
                sent.append(item.message)
                if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
                    break
        return sent

    loop = asyncio.Runner()
    try:
        run = deferring(loop.run)  # a signal that breaks into its tasks would come out as a group of exceptions
        session = run(started())  # held: the loop holds its tasks weakly
        with wire() as (source, write), suppress(ConnectionError):  # of a client that has died
            for line in lines(source):
                for message in run(replies(line)):
                    write(message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
        session.cancel()
    finally:
        deferring(loop.close)()


def lines(source: BinaryIO) -> Iterator[bytes | None]:
    r"""Each line; None for one that is too long, of which a part at a time is held.

    >>> import io
    >>> [*lines(io.BytesIO(b"{}\n[]"))]
    [b'{}\n', b'[]']
    """
    while line := source.readline(LONGEST_LINE + 1):
        is_long = len(line) > LONGEST_LINE
        while is_long and line and not line.endswith(b"\n"):
            line = source.readline(PART)
        yield None if is_long else line
