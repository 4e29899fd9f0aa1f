"""What a command is asked: keys of the config, as it declares them, and the flags that several commands share."""

import inspect
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from copy import copy
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args

import typer

from ltr.cli.output import Format, log_on_stderr, note, show_result
from ltr.config import declared_keys
from ltr.errors import UsageError

if TYPE_CHECKING:
    from ltr.config import Document, RunConfig
    from ltr.progress import OnProgress
    from ltr.report import Shown

Command = Callable[..., None]
NOTHING: Mapping[str, Any] = {}
GROUPS = {
    "data": "Data",
    **dict.fromkeys(("kind", "features", "encoder", "train"), "Training"),
    **dict.fromkeys(("none", "abstain"), "None and abstaining"),
    "evaluate": "Measuring",
    "engine": "Work on shards",
}


class KeyFlag(NamedTuple):
    """How the flag of a key differs from --NAME VALUE with the meaning of the key."""

    name: str = ""
    metavar: str | None = None
    least: int | None = None
    sets: str | bool | None = None  # what a flag without a value sets its key to
    meaning: str = ""


FLAGS = {
    "name": KeyFlag("--out"),
    "seed": KeyFlag(least=0),
    "features": KeyFlag(metavar="A,B", meaning="The features to use (ltr list features)."),
    "encoder": KeyFlag(meaning="What makes vectors of texts (ltr list encoders); auto is the best that is installed."),
    "data.train": KeyFlag("SAMPLES"),
    "data.valid": KeyFlag(metavar="FILE|SHARE"),
    "data.test": KeyFlag(metavar="FILE|SHARE"),
    "data.calibrate": KeyFlag(metavar="FILE|SHARE"),
    "data.negatives": KeyFlag(metavar="catalogue|N"),
    "data.texts": KeyFlag("--no-texts", sets=False, meaning="Store a hash of each query instead of its text."),
    "train.recipe": KeyFlag(
        "--recommended", sets="recommended", meaning="Use the settings that did best in our studies. Start here."
    ),
    "none.source": KeyFlag("--none-from", metavar="log|removed:SHARE"),
    "none.share": KeyFlag("--none-share"),
    "abstain.rule": KeyFlag("--abstain", metavar="risk=X|precision=X"),
    "evaluate.metrics": KeyFlag(metavar="A,B", meaning="More metrics, such as ndcg@10,map,hit@5."),
    "evaluate.preset": KeyFlag(metavar="ltr|recall|ranking|end-to-end|ctr"),
    "evaluate.group_by": KeyFlag(metavar="FIELD"),
    "evaluate.catalogue": KeyFlag("--catalogue/--no-catalogue"),
    "evaluate.baselines": KeyFlag(
        sets=True, meaning="Also show random order, what needs no training, the best column, and w = 1."
    ),
    "engine.name": KeyFlag("--engine"),
    "engine.workers": KeyFlag(least=1),
}


def flag(*names_and_help: str, **described: Any) -> Any:
    """Return an option: its names, or none where that of the parameter does, then its help."""
    return typer.Option(*names_and_help[:-1], help=names_and_help[-1], **described)


def argument(name: str, meaning: str) -> Any:
    """Return an argument, as help names and explains it."""
    return typer.Argument(metavar=name, help=meaning)


@dataclass(frozen=True, kw_only=True)
class Call:
    """What the shared flags of a command line say; one that the command does not take says nothing."""

    config: Annotated[str | None, flag("--config", "-c", "A config to start from; - is stdin.")] = None
    sets: Annotated[list[str] | None, flag("--set", "Change one key of the config.", metavar="KEY=VALUE")] = None
    allow_download: Annotated[
        bool, flag("--allow-download", "Fetch the encoder's model when it is not on this machine.")
    ] = False
    code: Annotated[list[str] | None, flag("--code", "Run a Python file that registers plug-ins.", metavar="FILE")] = (
        None
    )
    overwrite: Annotated[bool, flag("--overwrite", "Replace what is there.")] = False
    resume: Annotated[bool, flag("--resume", "Go on with the run that was broken off there; a complete run stays.")] = (
        False
    )
    dry_run: Annotated[bool, flag("--dry-run", "Check the config and say what would be done; write nothing.")] = False
    shown: Annotated[Format | None, flag("--format", "human on a terminal, tsv in a pipe, or json.")] = None
    quiet: Annotated[bool, flag("--quiet", "-q", "No progress, no notes.")] = False
    verbose: Annotated[bool, flag("--verbose", "-v", "Show the log on stderr: files, encoder, times.")] = False
    keys: Mapping[str, Any] = field(default_factory=dict)
    """What flags set keys of the config to, by path."""

    def refuse_both(self) -> None:
        """Raise where a command is to go on with what is there, and to replace it."""
        if self.resume and self.overwrite:
            raise UsageError("--resume goes on with what is there, --overwrite replaces it: give one of them")

    def document(self, config: str | None, more: Mapping[str, Any] = NOTHING) -> "Document":
        """Return the config file with --set and the flags, before it is checked; `more` are further keys."""
        from ltr.config import Document

        document = Document.read(config, self.sets or ())
        for key, value in {**self.keys, **more}.items():
            document = document.replace(key, value, flag_of(key).partition("/")[0])
        return document

    def configured(self, more: Mapping[str, Any] = NOTHING, own: Mapping[str, Any] = NOTHING) -> "RunConfig":
        """Return the config: defaults < file < --set < flags.

        `own`: defaults of the command, by key, in the place of those of the config.
        """
        from ltr.config import run_config

        document = self.document(self.config, more)
        for path, value in own.items():
            section, _, key = path.partition(".")
            keys = document.value.get(section, {})
            if isinstance(keys, dict) and key not in keys:
                document = document.replace(path, value, "default")
        return run_config(document)

    def fetch(self, encoder: str) -> None:
        """Download the model of an encoder that is not on this machine, where --allow-download stands."""
        from ltr.encoders import AUTO, fetch

        if self.allow_download and encoder != AUTO:
            fetch(encoder)

    def progress(self) -> "AbstractContextManager[OnProgress]":
        """Return the bar of a run, as a block."""
        from ltr.cli.progress import run_progress

        return run_progress(quiet=self.quiet)

    def note(self, text: str) -> None:
        """Write a line on stderr unless the command is to be quiet."""
        if not self.quiet:
            note(text)

    def show(self, result: "Shown") -> None:
        """Show a result as it is asked for."""
        show_result(self.shown, result)


SHARED = {each.name: each.type for each in fields(Call) if each.name != "keys"}


def takes(shared: str, keys: str = "", *, hidden: str = "") -> Callable[[Command], Command]:
    """Give a command flags beside those of its own parameters, and hand it what they say as a `Call`.

    The words are fields of `Call`, and paths of keys. What is hidden, of either kind, works and is not in the help.
    """
    names = {word.replace(".", "_"): word for word in f"{keys} {shared} {hidden}".split()}

    def extended(command: Command) -> Command:
        call, *own = inspect.signature(command).parameters.values()
        flags = [parameter.replace(kind=call.KEYWORD_ONLY) for parameter in own]
        for name, word in names.items():
            kind, option = get_args(SHARED[word] if word in SHARED else key_annotation(word))
            option = copy(option)
            option.hidden = word in hidden.split()
            annotation, default = Annotated[kind, option], False if kind is bool else None
            flags.append(inspect.Parameter(name, call.KEYWORD_ONLY, default=default, annotation=annotation))

        def called(**given: Any) -> None:
            values = {word: given.pop(name) for name, word in names.items()}
            run(command, values, given)

        called.__doc__, called.__name__ = command.__doc__, command.__name__
        called.__signature__ = inspect.Signature(flags)  # type: ignore[attr-defined]
        return called

    return extended


def run(command: Command, values: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Run a command with its own flags and those that others have as well."""
    shared = {name: value for name, value in values.items() if name in SHARED}
    keys = {key: key_value(key, value) for key, value in values.items() if key not in SHARED}
    with ExitStack() as stack:
        if shared.get("verbose"):
            stack.enter_context(log_on_stderr())
        for file in shared.get("code") or ():
            from ltr.plugins import load_code

            load_code(file)
        command(Call(**shared, keys={key: value for key, value in keys.items() if value not in (None, [])}), **own)


def key_annotation(key: str) -> Any:
    """Return the type and the option of the flag that sets a key, named and explained as the config declares it."""
    own, declared = FLAGS.get(key, KeyFlag()), declared_keys()[key]
    choices = re.fullmatch(r'Literal\["(.*)"\]', declared.types if own.sets is None else "")
    kinds: Mapping[str, Any] = {"int": int | None, "float": float | None, "bool": bool | None}
    kind = bool if own.sets is not None else kinds.get(declared.types.partition(" | ")[0], str | None)
    metavar = own.metavar or (choices[1].replace('", "', "|") if choices else None)
    panel = GROUPS.get(key.partition(".")[0])
    meaning = own.meaning or declared.meaning
    option = flag(flag_of(key), meaning, metavar=metavar, min=own.least, rich_help_panel=panel)
    return Annotated[kind, option]


def flag_of(key: str) -> str:
    """Return the flag that sets a key.

    >>> flag_of("train.learning_rate"), flag_of("data.train")
    ('--learning-rate', 'SAMPLES')
    """
    return FLAGS.get(key, KeyFlag()).name or f"--{key.rpartition('.')[2].replace('_', '-')}"


def key_value(key: str, value: Any) -> Any:
    """Return what a flag sets its key to: of text for a key that may be a list or a number, what it stands for.

    >>> key_value("data.test", ".2"), key_value("data.negatives", "9"), key_value("evaluate.metrics", "map, hit@5")
    (0.2, 9, ['map', 'hit@5'])
    """
    types, sets = declared_keys()[key].types, FLAGS.get(key, KeyFlag()).sets
    if sets is not None:
        return sets if value else None
    if not isinstance(value, str):
        return value
    if types.startswith("tuple["):
        return comma_separated(value)
    try:
        return float(value) if " | float" in types else whole_or_text(value) if " | int" in types else value
    except ValueError:
        return value


def comma_separated(text: str) -> list[str]:
    """Return the names between the commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def whole_or_text(text: str) -> int | str:
    """Return a number when the text is one, else the text, which others check."""
    return int(text) if text.isascii() and text.isdigit() else text


Samples = Annotated[list[str], argument("SAMPLES", "Samples: .jsonl, .gz, .zst, .npz, globs, or - for stdin.")]
HashTopics = Annotated[
    bool, flag("--hash-topics", "In TREC files, read lines that begin with # as data; else they are comments.")
]
ShardRows = Annotated[
    int | None,
    flag("--shard-rows", "How many candidates are read at once; default: 32 MB of lines.", metavar="N", min=1),
]
