"""ltr mcp: a server that finds tools."""

from pathlib import Path
from typing import Annotated

import typer

from ltr.cli.options import Code, Verbose
from ltr.errors import UsageError


def mcp_command(
    run: Annotated[
        Path | None, typer.Argument(metavar="RUN", help="A run directory or pack; not needed with --tools.")
    ] = None,
    tools: Annotated[
        list[str] | None, typer.Option("--tools", help="A catalogue of tools, once or more; default: that of the run.")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", help="Without a run: hash, static or minilm; default: the best installed."),
    ] = None,
    code: Code = None,
    verbose: Verbose = False,
) -> None:
    """Serve find_tools(query, k) to MCP clients on stdin and stdout."""
    from dataclasses import replace

    from ltr.data.catalogues.tools import all_tools
    from ltr.encoders.registry import AUTO
    from ltr.serving.mcp_server import serve
    from ltr.serving.router import load
    from ltr.serving.zero_shot import zero_shot_router

    catalogue = all_tools(tools or [])
    if run is None and not catalogue:
        raise UsageError("name a run, or --tools FILE to find tools untrained")
    if run is not None and encoder is not None:
        raise UsageError("--encoder is for ranking without a run; a run keeps the encoder it was trained with")
    router = zero_shot_router(catalogue, encoder or AUTO) if run is None else load(run)
    if run is not None and catalogue:
        router = replace(router, tools=catalogue)
    if not router.tools:
        raise UsageError(f"{run}: has no tools to choose from; name a catalogue (--tools)")
    router.rank("ready", k=1)  # prepares the catalogue before a client waits
    serve(router)
