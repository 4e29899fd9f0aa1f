"""A server of the Model Context Protocol on stdin and stdout: one tool, which finds tools."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ltr import __version__
from ltr.data.value_excerpts import excerpt
from ltr.errors import LtrError, UsageError
from ltr.files.installed_packages import install_line
from ltr.serving import DEFAULT_K
from ltr.serving.router import Router

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream

FIND: Final = "find_tools"
MOST_TOOLS = 100  # in one answer
LONGEST_QUERY = 1 << 20  # characters
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


def serve(router: Router) -> None:
    """Answer clients on stdin and stdout until stdin ends. Whatever a client sends, the next request is answered."""
    try:
        import anyio
        import mcp_types as types
        from mcp import MCPError
        from mcp.server.lowlevel import Server
        from mcp.server.stdio import stdio_server
        from mcp.shared.message import SessionMessage
    except ImportError as error:
        raise UsageError(f"the official SDK is needed: {install_line('mcp')}") from error

    async def list_tools(_context: Any, _params: Any) -> Any:
        return types.ListToolsResult(tools=[types.Tool(name=FIND, description=DESCRIPTION, input_schema=SCHEMA)])

    async def call_tool(_context: Any, params: Any) -> Any:
        try:
            answer = await tools_found(router, *checked_call(params.name, params.arguments))
        except LtrError as error:
            raise MCPError(code=types.INVALID_PARAMS, message=str(error)) from error
        text = types.TextContent(type="text", text=msgspec.json.encode(answer).decode())
        return types.CallToolResult(content=[text], structured_content=answer)

    async def relay(source: Any, target: "MemoryObjectSendStream[Any]", out: Any) -> None:
        """Pass messages on; answer lines that are none, which the SDK drops in silence."""
        async with target:
            async for item in source:
                if isinstance(item, Exception):
                    problem = types.ErrorData(code=types.PARSE_ERROR, message="not a JSON-RPC message")
                    await out.send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=None, error=problem)))
                else:
                    await target.send(item)

    async def run() -> None:
        server = Server("ltr", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)
        async with stdio_server() as (source, out), anyio.create_task_group() as group:
            target, inbox = anyio.create_memory_object_stream[Any](0)
            group.start_soon(relay, source, target, out)
            await server.run(inbox, out, server.create_initialization_options())

    anyio.run(run)
