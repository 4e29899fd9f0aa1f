"""The commands by name, each loaded when it is asked for; their help; and mistakes in their arguments, in one line."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ltr import __version__
from ltr.errors import UsageError
from ltr.plugins import unforeseen_errors

# The module and the function, or the functions, of each command, and its line in the list of commands. Only the
# command that is called is imported and built.
COMMANDS = {
    "init": ("data", "init", "Write ltr.yaml and small data to start from; or, --from a LOG, train."),
    "validate": ("data", "validate", "Say what is wrong with SAMPLES, or with a RUN."),
    "train": ("learn", "train", "Learn weights from SAMPLES; keep the run in OUT."),
    "evaluate": ("measure", "evaluate", "Measure how MODEL ranks the labelled SAMPLES."),
    "rank": ("serve", "rank", "Rank tools or teams of agents for a QUERY, the lines of stdin, or samples."),
    "update": ("learn", "update", "Learn from OUTCOMES of served queries: columns, weights, and corrections on top."),
    "run": ("learn", "run", "Run CONFIGS and their sweeps; end in a leaderboard."),
    "compare": ("measure", "compare", "Compare RUNS query by query: differences, tests, what changed."),
    "bench": ("measure", "bench", "Measure the rerankers of CONFIG side by side."),
    "report": ("measure", "report", "Write one page about RUNS: one file, no script, no network."),
    "featurize": ("learn", "featurize", "Turn SAMPLES into phi, the matrix of features."),
    "import": ("data", "import_files", "Turn FILES of another format into samples."),
    "export": ("data", "export", "Write a run, or samples, as TREC, LETOR or CSV."),
    "pack": ("serve", "pack", "Put what serving needs of a RUN into a directory or a zip file."),
    "mcp": ("serve", "mcp", "Serve find_tools(query, k) to MCP clients on stdin and stdout."),
    "list": ("look", "list_plugins", "List features, encoders, metrics, trainers and so on."),
    "env": ("look", "env", "Show versions and hardware, for a bug report."),
    "config": ("look", "CONFIG", "Check a config, show it whole, or show its schema."),
    "cache": ("look", "CACHE", "The vectors kept on this machine between runs."),
}
MISUSE: Any = typer.BadParameter.__base__  # every mistake in the arguments, to Typer; it gives it no public name
NUMBERS = {
    "greater_than_equal": "{} is too small; at least {ge} is needed",
    "int_parsing": "{} is not a whole number",
    "float_parsing": "{} is not a number",
}
OTHERS_OPTIONS = {  # what other programs call ours
    "--json": "--format json",
    "--tsv": "--format tsv",
    "--top-k": "-k",
    "--force": "--overwrite",
    "--output": "-o",
}


class Command(TyperCommand):
    """A command whose help shows its options in groups, and below them the keys that --set can change."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, the options, and the groups of those that are keys of the config."""
        groups: dict[str, list[Any]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            panel = getattr(parameter, "rich_help_panel", None) or f"{parameter.param_type_name}s".capitalize()
            if record := parameter.get_help_record(ctx):
                groups.setdefault(panel, []).append(record)
        if len(groups) > 2 and any("--set" in parameter.opts for parameter in self.params):
            groups["Keys of --set"] = [*keys_by_section()]
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class CommandGroup(TyperGroup):
    """Commands without options of their own ahead of a command: to find one absent Typer loads pydantic (50 ms).

    A mistake in the arguments is one line, as any other.
    """

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Return that of the command, once its name is known."""
        with in_one_line():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with in_one_line(), unforeseen_errors():
            return super().invoke(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Return what is left for the command."""
        if args and not args[0].startswith("-"):
            self.params, self.add_help_option = [], False
        return super().parse_args(ctx, args)


class CommandTable(Mapping[str, Any]):
    """The commands as Typer builds them, each when it is looked up."""

    def __init__(self) -> None:
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            module, attribute, line = COMMANDS[name]
            function, group = getattr(import_module(f"ltr.cli.{module}"), attribute), typer.Typer(rich_markup_mode=None)
            if isinstance(function, Mapping):
                below = typer.Typer(cls=CommandGroup, help=line, no_args_is_help=True, rich_markup_mode=None)
                for word, command in function.items():
                    below.command(word, cls=Command)(command)
                group.add_typer(below, name=name)
            else:
                group.command(name, cls=Command)(function)
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
        """Return their names, in the order of a first day."""
        return list(COMMANDS)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])


app = typer.Typer(
    name="ltr",
    cls=AllCommands,
    help="Learn which tool, or which team of agents, should answer a query.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def show_version(wanted: bool) -> None:
    """Print the version and stop, when asked to."""
    if wanted:
        typer.echo(f"ltr {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Learn which tool, or which team of agents, should answer a query."""


@contextmanager
def in_one_line() -> Iterator[None]:
    """Raise as ours what Typer says of the arguments in three lines; help that nobody asked for stays help."""
    try:
        yield
    except MISUSE as error:
        if type(error).show is not MISUSE.show:
            raise
        place = error.ctx.command_path if error.ctx else "ltr"
        message = " ".join(plainly(error).split()).rstrip(".").replace("Value error, ", "")
        is_extra = "unexpected extra argument" in message
        hint = "; a text with spaces stands in quotes, and only one is taken" if is_extra else ""
        raise UsageError(f"{message}{hint}; see {place} -h") from error


def plainly(error: Any) -> str:
    """Return what Typer says, in our words about an unknown option, or a number (where it hands on pydantic's)."""
    message: str = error.format_message()
    if name := getattr(error, "option_name", ""):
        return f"No such option: {name}{meant(name, error.ctx.command)}"
    problems: list[Any] = getattr(error.__cause__, "errors", list)()
    if not problems or problems[0]["type"] not in NUMBERS:
        return message
    ours = NUMBERS[problems[0]["type"]].format(f"{problems[0]['input']:.40}", **problems[0].get("ctx", {}))
    several = "; several go into --set, such as --set 'train.l2=[0.1, 0.01]'" if "," in problems[0]["input"] else ""
    return message.replace(error.message, ours + several)


def meant(name: str, command: Any) -> str:
    """Return what an option that is none of the command's may mean: another name for one, a slip, or a key for --set.

    >>> from types import SimpleNamespace as Some
    >>> command = Some(params=[Some(opts=["--learning-rate"]), Some(opts=["--set"])])
    >>> [meant(name, command) for name in ("--lr", "--knots", "--colour")]
    ['; did you mean --learning-rate?', '; did you mean --set train.knots=VALUE?', '']
    """
    from ltr.config import declared_keys, near_path

    options = [option for parameter in command.params for option in parameter.opts]
    if (ours := OTHERS_OPTIONS.get(name, "")).partition(" ")[0] in options:
        return f"; here it is {ours}"
    word, flags = name.lstrip("-").replace("-", "_"), {option[2:].replace("-", "_"): option for option in options}
    key = near_path(word, declared_keys()) if "--set" in options else ""
    if (near := near_path(word, flags)) and key.rpartition(".")[2] != word:
        return f"; did you mean {flags[near]}?"
    return f"; did you mean --set {key}=VALUE?" if key else ""


def keys_by_section() -> Iterator[tuple[str, str]]:
    """Yield the sections of a config, each with its keys."""
    from ltr.config import declared_keys

    sections: dict[str, list[str]] = {}
    for path in declared_keys():
        section, dot, key = path.rpartition(".")
        sections.setdefault(f"{section}{dot}KEY", []).append(key)
    yield from ((section, ", ".join(keys)) for section, keys in sections.items())
