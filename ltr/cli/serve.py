"""ltr rank, pack and mcp: a run, or a catalogue alone, in; ranked candidates and packs out."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ltr.cli.options import Call, argument, comma_separated, flag, takes
from ltr.cli.output import Format, chosen_format, columns_of_terminal, json_text, lines_of, say, show, show_tsv, warn
from ltr.errors import FileError, UsageError, count
from ltr.report import visible
from ltr.serving import DEFAULT_K

if TYPE_CHECKING:
    from ltr.serving import Answer, Choice, Router

OF_QUERY, OF_CANDIDATE = ("trace_id", "node_id", "query"), ("rank", "candidate", "probability", "score")
MOST_OUTCOMES = 3  # named under an explained query
NO_CANDIDATE = "no candidate is as probable as --at-least asks for"
WITHOUT_PARTS, PART = 44, 9  # columns of a line without the features, and of each feature


@takes("allow_download code shown verbose", "data.tools data.graphs")
def rank(
    call: Call,
    model: Annotated[str | None, argument("MODEL", "A run directory or model.json; not needed with --tools.")] = None,
    query: Annotated[str | None, argument("QUERY", "One query; - reads queries from stdin, one a line.")] = None,
    samples: Annotated[
        str | None, flag("--samples", "Rank the candidates of these samples instead; labels are not needed.")
    ] = None,
    encoder: Annotated[
        str | None, flag("--encoder", "Without a model: hash, static or minilm; default: the best installed.")
    ] = None,
    previous: Annotated[
        str | None,
        flag(
            "--previous",
            "Names used before in the conversation, in order, with commas between; tool.follows and tool.repeat "
            "read them.",
        ),
    ] = None,
    k: Annotated[int, flag("-k", "How many to show.", min=1)] = DEFAULT_K,
    at_least: Annotated[
        float | None, flag("--at-least", "Only candidates of at least this probability.", min=0, max=1)
    ] = None,
    explain: Annotated[bool, flag("--explain", "What each feature adds to each score.")] = False,
) -> None:
    """Rank tools or teams of agents for a QUERY, the lines of stdin, or samples.

    Without a MODEL the tools of --tools are ranked by their texts alone, untrained.
    """
    tools, graphs = call.keys.get("data.tools"), call.keys.get("data.graphs")
    words = [word for word in (model, query) if word is not None]
    model, query = model_and_query(words, has_samples=samples is not None, has_tools=tools is not None)
    if samples is not None and previous is not None:
        raise UsageError("--previous stands beside a QUERY; samples have what came before in their own lines")
    if query is not None and not query.strip():
        raise UsageError("the QUERY is blank; a text is needed")
    router = opened_router(model, tools, graphs, encoder)
    if call.allow_download and router.features:
        call.fetch(router.features.encoder.name)
    answers = (
        ranked_samples(router, samples, call, k, at_least)
        if samples is not None
        else (
            router.rank(text, k=k, at_least=at_least, previous=None if previous is None else comma_separated(previous))
            for text in (typed_queries() if query == "-" else [str(query)])
        )
    )
    answers = told(answers)
    SHOW[chosen_format(call.shown)](map(router.with_outcomes, answers) if explain else answers, explain)


def model_and_query(words: list[str], *, has_samples: bool, has_tools: bool) -> tuple[str | None, str | None]:
    """Return the model and the query of a command line; without a model a catalogue is needed.

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
    """Return whether the word names a run directory or a model that is there."""
    path = Path(word)
    return (path / "model.json").is_file() or (path.is_file() and path.suffix == ".json")


def opened_router(model: str | None, tools: str | None, graphs: str | None, encoder: str | None) -> "Router":
    """Return the router of a model, or without one the router that needs no training."""
    from ltr.serving import load

    if model is not None:
        if encoder is not None:
            raise UsageError("--encoder is for ranking without a model; a model keeps the encoder it was trained with")
        return load(model, tools=tools, graphs=graphs)
    from ltr.serving import search

    if tools is None:
        raise UsageError("name a run or model.json, or --tools FILE to rank untrained")
    if graphs is not None:
        raise UsageError("graphs are ranked by a trained run; name one")
    return search(tools, encoder or "auto")


def ranked_samples(router: "Router", samples: str, call: Call, k: int, at_least: float | None) -> "Iterator[Answer]":
    """Yield the answer to each group of the samples."""
    from ltr.featurized import columns_directory, open_columns

    directory, config = columns_directory(samples), call.configured()
    for part in open_columns(directory) if directory else [router.read(samples, config.data, labels_required=False)]:
        yield from router.answers(part.candidates, k, at_least=at_least)


def told(answers: "Iterable[Answer]") -> "Iterator[Answer]":
    """Yield the answers, each after its warnings unless the one before had the same."""
    warned: tuple[str, ...] = ()
    for answer in answers:
        for warning in answer.warnings if answer.warnings != warned else ():
            warn(warning)
        warned = answer.warnings
        yield answer


def typed_queries() -> Iterator[str]:
    """Yield the lines of stdin that are not blank."""
    from ltr.files import read_lines

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


def show_human(answers: "Iterator[Answer]", explain: bool) -> None:
    """Print each query and a line a candidate; explained, what each feature added."""
    from ltr.report import Column, Kind, Line, Table

    for place, answer in enumerate(answers):
        parts, hidden = parts_shown(answer) if explain else ([], 0)
        columns = (
            Column("rank", "rank", Kind.WRITTEN),
            Column("text", "candidate"),
            Column("probability", "prob." if explain else "probability", Kind.SHARE),
            Column("score", "score", Kind.SHARE),
            *(Column(name, name.partition(".")[2] or name, Kind.DIFFERENCE, value=part(name)) for name in parts),
        )
        ranking = Table.of(columns, answer.choices, indent="  ")
        lines = lines_of(
            Line(f'"{answer.query}"', "cut", is_bold=True), ranking if ranking.rows else Line(f"  {NO_CANDIDATE}")
        )
        if answer.outcomes:
            lines.append(f"  tool.corrections of the first: {outcomes_text(answer.outcomes)}")
        if answer.abstains:
            lines.append("  abstains: the first candidate is not sure enough")
        if answer.none is not None:
            lines.append(f"  none of these: probability {answer.none:.3f}")
        if hidden:
            lines.append(f"  and {count(hidden, 'more feature')}")
        say(*([""] if place else []), *lines)


def part(name: str) -> "Callable[[Choice], float]":
    """Return what reads off a candidate how much a feature added to its score."""
    return lambda choice: choice.contributions[name]


def outcomes_text(outcomes: "Mapping[str, float]") -> str:
    """Return the outcomes that add most, by their ids."""
    listed = [f"{visible(name)} {added:+.3f}" for name, added in list(outcomes.items())[:MOST_OUTCOMES]]
    more = [f"{len(outcomes) - MOST_OUTCOMES:,} more"] if len(outcomes) > MOST_OUTCOMES else []
    return ", ".join([*listed, *more])


def parts_shown(answer: "Answer") -> tuple[list[str], int]:
    """Return the features there is room for, those that part the candidates most, and how many are left out."""
    names = list(answer.choices[0].contributions) if answer.choices else []
    room = max((columns_of_terminal() - WITHOUT_PARTS) // PART, 1)
    if len(names) <= room:
        return names, 0
    values = {name: [choice.contributions[name] for choice in answer.choices] for name in names}
    widest = sorted(names, key=lambda name: min(values[name]) - max(values[name]))[:room]
    return [name for name in names if name in widest], len(names) - room


def show_answers_tsv(answers: "Iterator[Answer]", explain: bool) -> None:
    """Print a line a candidate, under the names of the columns."""
    for place, answer in enumerate(answers):
        parts = list(answer.choices[0].contributions) if explain and answer.choices else []
        if not place:
            show_tsv([[*OF_QUERY, *OF_CANDIDATE, *parts]])
        query, of_candidate = attrgetter(*OF_QUERY)(answer), attrgetter(*OF_CANDIDATE)
        show_tsv([*query, *of_candidate(each), *map(each.contributions.get, parts)] for each in answer.choices)


def show_answers_json(answers: "Iterator[Answer]", explain: bool) -> None:
    """Print one object a query, a line each."""
    names = (*OF_CANDIDATE, *(("contributions",) if explain else ()))
    for answer in answers:
        document: dict[str, Any] = {name: getattr(answer, name) for name in OF_QUERY}
        document |= {} if answer.none is None else {"none": answer.none}
        document |= {"outcomes": dict(answer.outcomes)} if answer.outcomes else {}
        document |= {"abstains": True} if answer.abstains else {}
        document |= {"scored": answer.scored, "offered": answer.offered} if answer.scored < answer.offered else {}
        ranking = [{name: getattr(choice, name) for name in names} for choice in answer.choices]
        say(json_text({**document, "ranking": ranking}))


SHOW = {Format.HUMAN: show_human, Format.TSV: show_answers_tsv, Format.JSON: show_answers_json}


@takes("overwrite code shown verbose", "data.tools")
def pack(
    call: Call,
    run: Annotated[Path, argument("RUN", "A run directory or model.json.")],
    out: Annotated[Path, flag("--out", "-o", "A directory of its own, or a file ending in .zip.")],
    learns: Annotated[
        bool, flag("--learns", "Pack training queries and outcomes, too, so that the pack can be refit.")
    ] = False,
) -> None:
    """Put what serving needs of a RUN into a directory or a zip file."""
    from ltr.serving import pack

    packed = pack(run, out, tools=call.keys.get("data.tools"), learns=learns, overwrite=call.overwrite)
    recall = packed.recall
    of_cut = {} if recall is None else {f"recall@{recall.first}": recall.share, "queries": recall.queries}
    size = sum(packed.files.values())
    facts = {"path": packed.path, "bytes": size, "tools": packed.tools, **of_cut}

    def lines() -> Iterator[str]:
        files = f"{count(len(packed.files), 'file')}, {size / 1e6:.1f} MB"
        yield f"packed {visible(packed.path)} ({files}, {count(packed.tools, 'tool')})"
        if recall is not None:
            share = f"{recall.share:.1%} of the first {recall.first} tools without the cut are among those with it"
            yield f"the catalogue is cut: {share} ({count(recall.queries, 'query', 'queries')})"

    show(call.shown, {**facts, "files": dict(packed.files)}, facts.items(), lines)


@takes("code verbose")
def mcp(
    call: Call,
    run: Annotated[Path | None, argument("RUN", "A run directory or pack; not needed with --tools.")] = None,
    tools: Annotated[
        list[str] | None, flag("--tools", "A catalogue of tools, once or more; default: that of the run.")
    ] = None,
    encoder: Annotated[
        str | None, flag("--encoder", "Without a run: hash, static or minilm; default: the best installed.")
    ] = None,
) -> None:
    """Serve find_tools(query, k) to MCP clients on stdin and stdout."""
    from dataclasses import replace

    from ltr.catalogues import all_tools
    from ltr.encoders import AUTO
    from ltr.serving import load, serve, zero_shot_router

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
