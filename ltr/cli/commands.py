"""The commands by name: each is loaded when it is asked for."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import typer

from ltr.cli.usage_errors import CommandGroup

# The module and the function, or the group, of each command, and its line in the list of commands. Only the command
# that is called is imported and built.
COMMANDS = {
    "init": ("init", "init", "Write ltr.yaml and small data to start from; or, --from a LOG, train."),
    "validate": ("validate", "validate", "Say what is wrong with SAMPLES, or with a RUN."),
    "train": ("train", "train_command", "Learn weights from SAMPLES; keep the run in OUT."),
    "evaluate": ("evaluate", "evaluate_command", "Measure how MODEL ranks the labelled SAMPLES."),
    "rank": ("rank", "rank_command", "Rank tools or teams of agents for a QUERY, the lines of stdin, or samples."),
    "update": (
        "update",
        "update_command",
        "Learn from OUTCOMES of served queries: columns, weights, and corrections on top.",
    ),
    "run": ("run", "run_command", "Run CONFIGS and their sweeps; end in a leaderboard."),
    "compare": ("compare", "compare_command", "Compare RUNS query by query: differences, tests, what changed."),
    "bench": ("bench", "bench", "Measure the rerankers of CONFIG side by side."),
    "report": ("report", "report", "Write one page about RUNS: one file, no script, no network."),
    "featurize": ("featurize", "featurize", "Turn SAMPLES into phi, the matrix of features."),
    "import": ("import_export", "import_files", "Turn FILES of another format into samples."),
    "export": ("import_export", "export_files", "Write a run, or samples, as TREC, LETOR or CSV."),
    "pack": ("pack", "pack_command", "Put what serving needs of a RUN into a directory or a zip file."),
    "mcp": ("mcp", "mcp_command", "Serve find_tools(query, k) to MCP clients on stdin and stdout."),
    "list": ("listing", "list_plugins", "List features, encoders, metrics, trainers and so on."),
    "env": ("env", "env", "Show versions and hardware, for a bug report."),
    "config": ("config", "app", "Check a config, show it whole, or show its schema."),
    "cache": ("cache", "app", "The vectors kept on this machine between runs."),
}


class CommandTable(Mapping[str, Any]):
    """The commands as Typer builds them, each when it is looked up."""

    def __init__(self) -> None:
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            module, attribute, _ = COMMANDS[name]
            command, group = getattr(import_module(f"ltr.cli.{module}"), attribute), typer.Typer(rich_markup_mode=None)
            if isinstance(command, typer.Typer):
                group.add_typer(command, name=name)
            else:
                group.command(name)(command)
            self._built[name] = typer.main.get_group(group).commands[name]
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class AllCommands(CommandGroup):
    """Every command of ltr."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = CommandTable()  # type: ignore[assignment]  # nobody adds to it

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  # Typer's signature
        """Their names, in the order of a first day."""
        return list(COMMANDS)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """The list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])
