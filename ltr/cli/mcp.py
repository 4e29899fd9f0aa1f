"""ltr mcp: a server that finds tools."""

from pathlib import Path
from typing import Annotated

import typer

from ltr.cli.options import Code, Verbose
from ltr.errors import UsageError


def mcp_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory or pack.")],
    tools: Annotated[
        list[str] | None, typer.Option("--tools", help="A catalogue of tools, once or more; default: that of the run.")
    ] = None,
    code: Code = None,
    verbose: Verbose = False,
) -> None:
    """Serve find_tools(query, k) to MCP clients on stdin and stdout."""
    from dataclasses import replace

    from ltr.data.catalogues.tools import all_tools
    from ltr.serving.mcp_server import serve
    from ltr.serving.router import load

    router = load(run)
    if tools:
        router = replace(router, tools=all_tools(tools))
    if not router.tools:
        raise UsageError(f"{run}: has no tools to choose from; name a catalogue (--tools)")
    router.rank("ready", k=1)  # prepares the catalogue before a client waits
    serve(router)
