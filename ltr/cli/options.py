"""The flags that several commands share, and which key of the config each of them sets."""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import typer

from ltr.cli.output import Format
from ltr.errors import UsageError

GIVEN = "ltr.keys"  # where a command line keeps the keys of the config that its flags set


class FlagValue(NamedTuple):
    """What a flag sets in the config."""

    flag: str
    key: str
    value: Any


def sets_key(key: str, read: Callable[[Any], Any] = lambda value: value) -> Callable[..., Any]:
    """The callback of a flag, or an argument, that sets a key of the config to what `read` makes of its value.

    A value of None, and an empty list, leave the key as it is.
    """

    def noted(ctx: typer.Context, param: typer.CallbackParam, value: Any) -> Any:
        if not ctx.resilient_parsing and (wanted := read(value)) not in (None, [], ()):
            flag = param.opts[0] if param.param_type_name == "option" else str(param.metavar)
            given_keys(ctx).append(FlagValue(flag, key, wanted))
        return value

    return noted


def key_option(key: str, *flags: str, read: Callable[[Any], Any] = lambda value: value, **described: Any) -> Any:
    """An option that sets a key of the config."""
    return typer.Option(*flags, callback=sets_key(key, read), **described)


def given_keys(ctx: typer.Context) -> list[FlagValue]:
    """What the flags of this command line set in the config."""
    values: list[FlagValue] = ctx.meta.setdefault(GIVEN, [])
    return values


def run_code(ctx: typer.Context, files: list[str] | None) -> list[str] | None:
    """Run the files before the command begins, so that it can name what they register; not to complete a line."""
    if files and not ctx.resilient_parsing:
        from ltr.plugins import load_code

        for file in files:
            load_code(file)
    return files


def show_log(ctx: typer.Context, on: bool) -> bool:
    """The callback of -v: the log is shown until the command ends."""
    if on:
        from ltr.cli.verbose_log import shown_on_stderr

        ctx.with_resource(shown_on_stderr())
    return on


def whole_or_number(text: str | None) -> Any:
    """A number when the text is one, else the text, which the config checks."""
    return int(text) if text is not None and text.isascii() and text.isdigit() else text


def samples_or_share(text: str | None) -> Any:
    """A share when the text is a number, else files."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return text


def comma_separated(text: str | None) -> list[str] | None:
    """The names between the commas; None without a text."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def where_on(value: str | bool) -> Callable[[bool], Any]:
    """Reads a flag without a value: what its key is set to where it stands.

    >>> where_on("recommended")(False) is None
    True
    """
    return lambda is_on: value if is_on else None


Samples = Annotated[
    list[str],
    typer.Argument(
        metavar="SAMPLES",
        callback=sets_key("data.train"),
        help="Samples: .jsonl, .gz, .zst, .npz, globs, or - for stdin.",
    ),
]
ConfigFile = Annotated[str | None, typer.Option("--config", "-c", help="A config to start from; - is stdin.")]
Sets = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change one key of the config.")]
Tools = Annotated[str | None, key_option("data.tools", "--tools", help="A catalogue of tools.")]
CatalogueFlag = Annotated[
    bool | None,
    key_option(
        "evaluate.catalogue",
        "--catalogue/--no-catalogue",
        help="Rank all tools as well; default: only where lists are short or drawn.",
    ),
]
NoTexts = Annotated[
    bool,
    key_option(
        "data.texts", "--no-texts", read=where_on(False), help="Store a hash of each query instead of its text."
    ),
]
Negatives = Annotated[
    str | None,
    key_option(
        "data.negatives",
        "--negatives",
        metavar="catalogue|N",
        read=whole_or_number,
        help="Add tools of the catalogue as candidates: all, or N a query.",
    ),
]
Abstain = Annotated[
    str | None,
    key_option(
        "abstain.rule",
        "--abstain",
        metavar="risk=X|precision=X",
        help="Answer only when sure: at most a share X wrong, or at least X right.",
    ),
]
Calibrate = Annotated[
    str | None,
    key_option(
        "data.calibrate",
        "--calibrate",
        metavar="FILE|SHARE",
        read=samples_or_share,
        help="The samples that set the limit of --abstain; default: .1 of the traces.",
    ),
]
NoneFrom = Annotated[
    str | None,
    key_option(
        "none.source",
        "--none-from",
        metavar="log|removed:SHARE",
        help="Learn when no tool fits: from the log, or from right tools removed.",
    ),
]
NoneShare = Annotated[
    float | None, key_option("none.share", "--none-share", help="The share of live queries that no tool fits.")
]
Graphs = Annotated[str | None, key_option("data.graphs", "--graphs", help="A catalogue of graphs.")]
Encoder = Annotated[
    str | None, key_option("encoder", "--encoder", help="What makes vectors of texts (ltr list encoders).")
]
EngineName = Annotated[
    str | None, key_option("engine.name", "--engine", help="What works on shards: local (processes), or ray.")
]
Workers = Annotated[
    int | None,
    key_option(
        "engine.workers", "--workers", min=1, help="How many shards at the same time; default: 1, with ray all."
    ),
]
Address = Annotated[str | None, key_option("engine.address", "--address", help="The Ray cluster: HOST:PORT, or auto.")]
AllowDownload = Annotated[
    bool, typer.Option("--allow-download", help="Fetch the encoder's model when it is not on this machine.")
]
Code = Annotated[
    list[str] | None,
    typer.Option("--code", metavar="FILE", callback=run_code, help="Run a Python file that registers plug-ins."),
]
Seed = Annotated[int | None, key_option("seed", "--seed", min=0, help="Every random choice follows from it.")]
HashTopics = Annotated[
    bool,
    typer.Option("--hash-topics", help="In TREC files, read lines that begin with # as data; else they are comments."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, help="How many runs at the same time, each in a process; default: 1."),
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on with the run that was broken off there; a complete run stays.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Check the config and say what would be done; write nothing.")]
ShardRows = Annotated[
    int | None,
    typer.Option(
        "--shard-rows", metavar="N", min=1, help="How many candidates are read at once; default: 32 MB of lines."
    ),
]
Shown = Annotated[Format | None, typer.Option("--format", help="human on a terminal, tsv in a pipe, or json.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes.")]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", callback=show_log, help="Show the log on stderr: files, encoder, times."),
]
Features = Annotated[
    str | None,
    key_option(
        "features", "--features", metavar="A,B", read=comma_separated, help="The features to use (ltr list features)."
    ),
]
Recommended = Annotated[
    bool,
    key_option(
        "train.recipe",
        "--recommended",
        read=where_on("recommended"),
        help="Use the settings that did best in our studies. Start here.",
    ),
]
Metrics = Annotated[
    str | None,
    key_option("evaluate.metrics", "--metrics", read=comma_separated, help="More metrics, such as ndcg@10,map,hit@5."),
]
Ties = Annotated[str | None, key_option("evaluate.ties", "--ties", help="expected, file, worst, best or trec.")]
NoRelevant = Annotated[str | None, key_option("evaluate.no_relevant", "--no-relevant", help="skip, zero or error.")]
Preset = Annotated[
    str | None,
    key_option(
        "evaluate.preset", "--preset", help="Metrics that belong together: ltr, recall, ranking, end-to-end, ctr."
    ),
]
Threshold = Annotated[
    float | None,
    key_option(
        "evaluate.threshold", "--threshold", help="The least probability that counts as chosen, for f1 and the like."
    ),
]
MaxGrade = Annotated[
    float | None,
    key_option("evaluate.max_grade", "--max-grade", help="The greatest label there can be, for err; gdeval has 4."),
]
Probability = Annotated[
    str | None,
    key_option(
        "evaluate.probability",
        "--probability",
        help="How scores become probabilities: softmax, sigmoid, or given (they are).",
    ),
]
RelThreshold = Annotated[
    float | None, key_option("evaluate.rel_threshold", "--rel-threshold", help="The least label that counts as right.")
]


def refuse_both(*, resume: bool, overwrite: bool) -> None:
    """Raise where a command is to go on with what is there, and to replace it."""
    if resume and overwrite:
        raise UsageError("--resume goes on with what is there, --overwrite replaces it: give one of them")


def fetch_encoder(name: str) -> None:
    """Download the model of an encoder that is not on this machine; only --allow-download lets a command do it."""
    from ltr.encoders.registry import AUTO, fetch

    if name != AUTO:
        fetch(name)
