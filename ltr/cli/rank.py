"""ltr rank: queries in, ranked candidates out."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ltr.cli.config_of_flags import configured
from ltr.cli.options import AllowDownload, Code, Graphs, Shown, Tools, Verbose, fetch_encoder, given_keys
from ltr.cli.output import Format, aligned_lines, chosen_format, columns_of_terminal, emphasis, json_text, say, warn
from ltr.cli.output import show_tsv as table_of
from ltr.errors import FileError, UsageError, count
from ltr.reporting.escaping import visible
from ltr.reporting.lines import shortened
from ltr.reporting.number_formats import fixed
from ltr.serving import DEFAULT_K

if TYPE_CHECKING:
    from ltr.config.run import RunConfig
    from ltr.serving.answers import Answer, Choice
    from ltr.serving.router import Router

COLUMNS = ("trace_id", "node_id", "query", "rank", "candidate", "probability", "score")
MOST_OUTCOMES = 3  # named under an explained query
NO_CANDIDATE = "no candidate is as probable as --at-least asks for"
WITHOUT_PARTS, PART = 44, 9  # columns of a line without the features, and of each feature


def rank_command(
    ctx: typer.Context,
    model: Annotated[
        str | None, typer.Argument(metavar="MODEL", help="A run directory or model.json; not needed with --tools.")
    ] = None,
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="One query; - reads queries from stdin, one a line.")
    ] = None,
    samples: Annotated[
        str | None,
        typer.Option("--samples", help="Rank the candidates of these samples instead; labels are not needed."),
    ] = None,
    tools: Tools = None,
    graphs: Graphs = None,
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", help="Without a model: hash, static or minilm; default: the best installed."),
    ] = None,
    previous: Annotated[
        str | None,
        typer.Option(
            "--previous",
            help="Names used before in the conversation, in order, with commas between; tool.follows and tool.repeat "
            "read them.",
        ),
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many to show.")] = DEFAULT_K,
    at_least: Annotated[
        float | None, typer.Option("--at-least", min=0, max=1, help="Only candidates of at least this probability.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="What each feature adds to each score.")] = False,
    allow_download: AllowDownload = False,
    code: Code = None,
    shown: Shown = None,
    verbose: Verbose = False,
) -> None:
    """Rank tools or teams of agents for a QUERY, the lines of stdin, or samples.

    Without a MODEL the tools of --tools are ranked by their texts alone, untrained.
    """
    words = [word for word in (model, query) if word is not None]
    model, query = model_and_query(words, has_samples=samples is not None, has_tools=tools is not None)
    if samples is not None and previous is not None:
        raise UsageError("--previous stands beside a QUERY; samples have what came before in their own lines")
    if query is not None and not query.strip():
        raise UsageError("the QUERY is blank; a text is needed")
    router = opened_router(model, tools, graphs, encoder)
    if allow_download and router.features:
        fetch_encoder(router.features.encoder.name)
    if samples is not None:
        config = configured(None, None, given_keys(ctx))
        answers = answers_to_samples(router, samples, config, k, at_least)
    else:
        queries = typed_queries() if query == "-" else iter([str(query)])
        before = None if previous is None else [name.strip() for name in previous.split(",") if name.strip()]
        answers = told(router.rank(text, k=k, at_least=at_least, previous=before) for text in queries)
    SHOW[chosen_format(shown)](map(router.with_outcomes, answers) if explain else answers, explain)


def model_and_query(words: list[str], *, has_samples: bool, has_tools: bool) -> tuple[str | None, str | None]:
    """The model and the query of a command line; without a model a catalogue is needed.

    A single word is a model where samples are ranked, or no catalogue is named; else it is the query.

    >>> model_and_query(["rain?"], has_samples=False, has_tools=True)
    (None, 'rain?')
    >>> model_and_query(["runs/first", "rain?"], has_samples=False, has_tools=True)
    ('runs/first', 'rain?')
    """
    if has_samples:
        if len(words) == 2:
            raise UsageError("give a QUERY, or --samples FILE")
        return (words[0] if words else None), None
    if len(words) == 2:
        return words[0], words[1]
    if not words or (not has_tools and Path(words[0]).exists()) or is_model(words[0]):
        raise UsageError("give a QUERY, or --samples FILE")
    if not has_tools:
        raise UsageError(f"{words[0]}: no such run; name a run before the QUERY, or --tools FILE to rank untrained")
    return None, words[0]


def is_model(word: str) -> bool:
    """Whether the word names a run directory or a model that is there."""
    path = Path(word)
    return (path / "model.json").is_file() or (path.is_file() and path.suffix == ".json")


def opened_router(model: str | None, tools: str | None, graphs: str | None, encoder: str | None) -> "Router":
    """The router of a model, or without one the router that needs no training."""
    from ltr.serving.router import load

    if model is not None:
        if encoder is not None:
            raise UsageError("--encoder is for ranking without a model; a model keeps the encoder it was trained with")
        return load(model, tools=tools, graphs=graphs)
    from ltr.serving.zero_shot import search

    if tools is None:
        raise UsageError("name a run or model.json, or --tools FILE to rank untrained")
    if graphs is not None:
        raise UsageError("graphs are ranked by a trained run; name one")
    return search(tools, encoder or "auto")


def answers_to_samples(
    router: "Router", samples: str, config: "RunConfig", k: int, at_least: float | None
) -> "Iterator[Answer]":
    """The answer to each group of the samples, after its warnings."""
    from ltr.storage.sharded_columns import columns_directory, open_columns

    directory = columns_directory(samples)
    parts = open_columns(directory) if directory else [router.read(samples, config.data, labels_required=False)]
    return told(answer for part in parts for answer in router.answers(part.candidates, k, at_least=at_least))


def told(answers: "Iterable[Answer]") -> "Iterator[Answer]":
    """The answers, each after its warnings unless the one before had the same."""
    warned: tuple[str, ...] = ()
    for answer in answers:
        for warning in answer.warnings if answer.warnings != warned else ():
            warn(warning)
        warned = answer.warnings
        yield answer


def typed_queries() -> Iterator[str]:
    """The lines of stdin that are not blank."""
    from ltr.files.reading import read_lines

    is_empty = True
    for line_number, line in read_lines("-"):
        if line and not line.isspace():
            is_empty = False
            try:
                yield line.decode()
            except UnicodeDecodeError as error:
                raise FileError(f"<stdin>:{line_number}", f"byte {error.start + 1} is not UTF-8") from error
    if is_empty:
        raise FileError("<stdin>", "no queries; one a line is needed")


def show_human(found: "Iterator[Answer]", explain: bool) -> None:
    """Each query and a line a candidate; explained, what each feature added."""
    for place, answer in enumerate(found):
        parts, hidden = parts_shown(answer) if explain else ([], 0)
        rows = [
            [str(choice.rank), choice.text, fixed(choice.probability), f"{choice.score:.3f}"]
            + [f"{choice.contributions[part]:+.3f}" for part in parts]
            for choice in answer.choices
        ]
        added = [part.partition(".")[2] or part for part in parts]
        headers = ["rank", "candidate", "prob." if explain else "probability", "score", *added]
        title = emphasis(shortened(visible(f'"{answer.query}"'), columns_of_terminal()))
        more = [f"  and {count(hidden, 'more feature')}"] if hidden else []
        lines = aligned_lines(headers, rows, flexible=1) if rows else [f"  {NO_CANDIDATE}"]
        lines += [f"  tool.corrections of the first: {outcomes_text(answer.outcomes)}"] if answer.outcomes else []
        lines += ["  abstains: the first candidate is not sure enough"] if answer.abstains else []
        lines += [] if answer.none is None else [f"  none of these: probability {fixed(answer.none)}"]
        say(*([""] if place else []), title, *lines, *more)


def outcomes_text(outcomes: "Mapping[str, float]") -> str:
    """The outcomes that add most, by their ids."""
    listed = [f"{visible(name)} {added:+.3f}" for name, added in list(outcomes.items())[:MOST_OUTCOMES]]
    more = [f"{len(outcomes) - MOST_OUTCOMES:,} more"] if len(outcomes) > MOST_OUTCOMES else []
    return ", ".join([*listed, *more])


def parts_shown(answer: "Answer") -> tuple[list[str], int]:
    """The features there is room for, those first that part the candidates most, and how many are left out."""
    names = list(answer.choices[0].contributions) if answer.choices else []
    room = max((columns_of_terminal() - WITHOUT_PARTS) // PART, 1)
    if len(names) <= room:
        return names, 0
    values = {name: [choice.contributions[name] for choice in answer.choices] for name in names}
    widest = sorted(names, key=lambda name: min(values[name]) - max(values[name]))[:room]
    return [name for name in names if name in widest], len(names) - room


def show_answers_tsv(found: "Iterator[Answer]", explain: bool) -> None:
    """A line a candidate, under the names of the columns."""
    for place, answer in enumerate(found):
        parts = list(answer.choices[0].contributions) if explain and answer.choices else []
        if not place:
            table_of([[*COLUMNS, *parts]])
        query_fields = (answer.trace_id, answer.node_id, answer.query)
        table_of(
            [
                *query_fields,
                choice.rank,
                choice.candidate,
                choice.probability,
                choice.score,
                *map(choice.contributions.get, parts),
            ]
            for choice in answer.choices
        )


def show_answers_json(found: "Iterator[Answer]", explain: bool) -> None:
    """One object a query, a line each."""
    for answer in found:
        choices = [_choice(choice, explain) for choice in answer.choices]
        query_fields = {"trace_id": answer.trace_id, "node_id": answer.node_id, "query": answer.query}
        none: dict[str, Any] = {} if answer.none is None else {"none": answer.none}
        none |= {"outcomes": dict(answer.outcomes)} if answer.outcomes else {}
        none |= {"abstains": True} if answer.abstains else {}
        none |= {"scored": answer.scored, "offered": answer.offered} if answer.scored < answer.offered else {}
        say(json_text({**query_fields, **none, "ranking": choices}))


def _choice(choice: "Choice", explain: bool) -> dict[str, Any]:
    names = ("rank", "candidate", "probability", "score", *(("contributions",) if explain else ()))
    return {name: getattr(choice, name) for name in names}


SHOW = {Format.HUMAN: show_human, Format.TSV: show_answers_tsv, Format.JSON: show_answers_json}
