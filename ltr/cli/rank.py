"""ltr rank: queries in, ranked candidates out."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ltr.cli.options import Code, Graphs, Shown, Tools, configured, run_code
from ltr.cli.terminal import Format, chosen_format, columns_of_terminal, emphasis, number, shortened, table, visible
from ltr.errors import UsageError

if TYPE_CHECKING:
    from ltr.routing import Answer, Choice

DEFAULT_K = 5


def rank(
    model: Annotated[Path, typer.Argument(help="A run directory or model.json.")],
    query: Annotated[str | None, typer.Argument(help="What to answer; - reads a query a line from stdin.")] = None,
    samples: Annotated[
        str | None, typer.Option("--samples", help="Samples to rank instead; labels are not needed.")
    ] = None,
    tools: Tools = None,
    graphs: Graphs = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many to show.")] = DEFAULT_K,
    explain: Annotated[bool, typer.Option("--explain", help="What each feature adds to each score.")] = False,
    code: Code = None,
    shown: Shown = None,
) -> None:
    """Rank the candidates of a QUERY: those of a catalogue, or of samples."""
    if (query is None) == (samples is None):
        raise UsageError("give a QUERY, or --samples FILE")
    run_code(code)
    found = (
        of_samples(model, str(samples), tools, graphs, k)
        if query is None
        else of_queries(model, query, tools, graphs, k)
    )
    wanted = chosen_format(shown)
    if wanted is Format.TSV:
        print("\t".join(["trace_id", "node_id", "query", "rank", "candidate", "probability", "score"]))
    for answer in found:
        SHOW[wanted](answer, explain)


def of_samples(model: Path, samples: str, tools: str | None, graphs: str | None, k: int) -> "Iterator[Answer]":
    """The answers to the groups of samples."""
    from ltr.artifacts import load_router
    from ltr.pipeline import read
    from ltr.routing import answers

    config = configured(None, None, data__tools=tools, data__graphs=graphs)
    groups, _ = read(samples, config.data, labels_required=False)
    return answers(load_router(model), groups.candidates, k)


def of_queries(model: Path, query: str, tools: str | None, graphs: str | None, k: int) -> "Iterator[Answer]":
    """The answer to the query, or to each line of stdin."""
    from ltr.files import read_lines
    from ltr.routing import Answer, load

    ranker = load(model, tools=tools, graphs=graphs)
    texts = (line.decode("utf-8", "replace") for _, line in read_lines("-")) if query == "-" else iter([query])
    for text in texts:
        yield Answer("", "", text, ranker.rank(text, k))


def show_human(answer: "Answer", explain: bool) -> None:
    """The query and a line a candidate; explained, what each feature added."""
    print(emphasis(shortened(visible(f'"{answer.query}"'), columns_of_terminal())))
    parts = list(answer.choices[0].contributions) if explain else []
    rows = [
        [str(each.rank), each.candidate, number(each.probability), f"{each.score:.3f}"]
        + [f"{each.contributions[part]:+.3f}" for part in parts]
        for each in answer.choices
    ]
    headers = ["rank", "candidate", "probability", "score", *(part.partition(".")[2] or part for part in parts)]
    print("\n".join([*table(headers, rows, flexible=1), ""]))


def show_tsv(answer: "Answer", explain: bool) -> None:
    """A line a candidate."""
    for each in answer.choices:
        added = [f"{name}={value!r}" for name, value in each.contributions.items()] if explain else []
        cells = [answer.trace_id, answer.node_id, answer.query, each.rank, each.candidate, each.probability, each.score]
        print("\t".join(visible(str(cell)) for cell in [*cells, *added]))


def show_json(answer: "Answer", explain: bool) -> None:
    """One object a query, a line each."""
    import json

    choices = [_choice(each, explain) for each in answer.choices]
    document = {"trace_id": answer.trace_id, "node_id": answer.node_id, "query": answer.query, "ranking": choices}
    sys.stdout.write(json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n")


def _choice(choice: "Choice", explain: bool) -> dict[str, Any]:
    from dataclasses import asdict

    fields = asdict(choice)
    return fields if explain else {name: value for name, value in fields.items() if name != "contributions"}


SHOW = {Format.HUMAN: show_human, Format.TSV: show_tsv, Format.JSON: show_json}
