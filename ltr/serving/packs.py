"""A pack: what serving needs of a run and nothing else, as a directory or a zip file."""

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from ltr import __version__
from ltr.config import RunConfig, load_config, yaml_text
from ltr.errors import UsageError, count
from ltr.files import (
    DirectoryKind,
    atomic_file,
    locked,
    new_directory,
    new_files,
    read_bytes,
    refuse_existing,
    write_file,
)
from ltr.paths import AnyPath
from ltr.records.run import RUN_FORMAT, RunRecord
from ltr.runs import Learned, Part, RunDirectory
from ltr.samples import DataConfig, all_told
from ltr.serving.answers import Answer
from ltr.serving.catalogue import MOST_SCORED
from ltr.serving.router import Router, load
from ltr.temporary import temporary_directory

CARD, EXAMPLE = "README.md", "example.py"
RECALL_AT, RECALL_QUERIES = 10, 32
EXTRAS = {"static": "the extra `static`", "minilm": "the extra `embed`"}
LARGEST_FILE = 1 << 30  # of a pack
EARLIEST = (1980, 1, 1, 0, 0, 0)  # time a zip file knows


def _is_pack(directory: Path) -> bool:
    """Return whether a card and the record of what was packed lie there."""
    return RunDirectory(directory).record is not None and (directory / CARD).is_file()


FILES = (Part.MODEL, Part.ARRAYS, Part.TOOLS, Part.TRAINING, Part.CONFIG, Part.RUN, CARD, EXAMPLE)
PACK_KIND = DirectoryKind(files=FILES, folders={}, is_one=_is_pack)


class CutRecall(NamedTuple):
    """Of the first tools without a cut of the catalogue, how many stay among the first with it."""

    share: float
    queries: int  # that it is the mean of
    first: int = RECALL_AT


@dataclass(frozen=True, slots=True)
class Packed:
    """What was packed."""

    path: str
    files: Mapping[str, int]  # bytes of each
    tools: int
    recall: CutRecall | None  # of a catalogue that is cut


def pack(
    run: AnyPath, out: AnyPath, *, tools: AnyPath | None = None, learns: bool = False, overwrite: bool = False
) -> Packed:
    """Write model, catalogue, card and example of a run into a directory, or into a file whose name ends in .zip.

    `tools` names another catalogue than that of the run. A pack that `learns` holds the training queries and the
    outcomes as well, and can be refit; any other corrects its ranking, and that is all.
    """
    target = Path(out)
    is_file = target.suffix.lower() == ".zip"
    if is_file:
        refuse_existing(target, overwrite=overwrite)
    else:
        PACK_KIND.refuse_taken(target, overwrite=overwrite)
    router = load(run, tools=tools)
    recall = cut_recall(router, Path(run))
    material = material_of(router) if learns else None
    if is_file:
        with new_files(target) as new, temporary_directory() as folder:
            sizes = _write(folder, router, recall, material)
            _zip(folder, new / target.name)
    else:
        with locked(target), new_directory(target) as home:
            sizes = _write(home, router, recall, material)
    return Packed(target.as_posix(), sizes, len(router.tools or ()), recall)


def material_of(router: Router) -> tuple[Learned, RunConfig]:
    """Return what a refit of the router learns from, and its config, which names no file of the run."""
    home = router.home
    if home is None or not (home / Part.CONFIG).is_file():
        raise UsageError(f"{home}: no run with a config; only a run can be packed to learn")
    feedback, config = router.opened_feedback(), load_config(home / Part.CONFIG)
    learned, journal = feedback.learned(), feedback.read()
    if not learned.has_texts or (learned.groups is None and config.data.train):
        raise UsageError(f"{home}: keeps no training queries, so a pack of it cannot learn from them")
    groups = None if learned.groups is None else learned.groups.without_traces(journal.forgotten)
    outcomes = all_told(learned.outcomes, journal.groups, journal.forgotten)
    own = DataConfig(split=config.data.split, previous=config.data.previous, texts=config.data.texts)
    return Learned(learned.rarity, groups, outcomes), replace(config, data=own)


def cut_recall(router: Router, run: Path) -> CutRecall | None:
    """Return the mean share of the first RECALL_AT tools that a cut keeps among them; None without a cut.

    The queries are those the run was measured on, else the texts of tools.
    """
    if router.kind != "tool" or not router.tools or len(router.tools) <= MOST_SCORED:
        return None
    if (run / Part.PER_QUERY).is_file():
        measured = islice(RunDirectory(run).queries, 20 * RECALL_QUERIES)
        queries = list(dict.fromkeys(line.query for line in measured if line.query.strip()))
    else:
        step = max(len(router.tools) // RECALL_QUERIES, 1)
        queries = [text.description or name for name, text in islice(router.tools.items(), 0, None, step)]
    queries = queries[:: max(len(queries) // RECALL_QUERIES, 1)][:RECALL_QUERIES]
    exact = router.rank_many(queries, k=RECALL_AT, exact=True)
    return CutRecall(recall_of(router.rank_many(queries, k=RECALL_AT), exact), len(queries))


def recall_of(cut: Sequence[Answer], exact: Sequence[Answer]) -> float:
    """Return the mean share of the choices of the exact answers that the others have."""
    shares = [
        len({choice.candidate for choice in some} & {choice.candidate for choice in all_choices}) / len(all_choices)
        for some, all_choices in zip(cut, exact, strict=True)
    ]
    return sum(shares) / len(shares)


def _write(
    home: Path, router: Router, recall: CutRecall | None, material: tuple[Learned, RunConfig] | None
) -> dict[str, int]:
    """Write the files of a pack; return how large each is."""
    router.save(home)
    RunDirectory(home).write_tools(router.tools)
    if material is not None:
        material[0].write(home)
        write_file(home / Part.CONFIG, yaml_text(material[1]))
    elif (rarity := router.rarity) is not None:
        Learned(rarity).write(home)
    write_file(home / CARD, readme_text(router, recall))
    program = TOOL_PROGRAM if router.kind == "tool" else GRAPH_PROGRAM
    write_file(home / EXAMPLE, program.replace("EXAMPLE", EXAMPLE))
    RunDirectory(home).complete(RunRecord(format=RUN_FORMAT, name="pack"))
    return {path.name: path.stat().st_size for path in sorted(home.iterdir())}


def _zip(folder: Path, out: Path) -> None:
    """Write the folder as one zip file, without times, so that the same pack has the same bytes."""
    with atomic_file(out) as sink, zipfile.ZipFile(sink, "w") as archive:
        for path in sorted(folder.iterdir()):
            archive.writestr(
                zipfile.ZipInfo(path.name, EARLIEST), read_bytes(path, limit=LARGEST_FILE), zipfile.ZIP_DEFLATED
            )


def readme_text(router: Router, recall: CutRecall | None) -> str:
    """Return README.md of a pack: what it is, what it needs, and what its numbers mean."""
    encoder = router.features.encoder.name if router.features else ""
    needs = f"; its encoder needs {EXTRAS[encoder]}" if encoder in EXTRAS else ""
    weights = [f"| `{name}` | {weight:+.4g} |" for name, weight in zip(router.names, router.w.tolist(), strict=False)]
    holds = "  Nothing says that one of them is right: choose the threshold `at_least` on queries of yours."
    if router.none is not None:
        where = f"where that holds of a share of {router.none.share:.3g} of queries"
        holds = f"  They share what `answer.none` leaves: P(none is right), {where}."
    run_it = f"Unzip the pack if it is a zip file, then: `python {EXAMPLE}`."
    lines = [
        "# A packed router",
        "",
        f"A model of `ltr {__version__}` that ranks {router.kind}s"
        + (f", and its catalogue of {count(len(router.tools), 'tool')}." if router.tools else "."),
        "",
        f"Install `ltr`{needs}. {run_it} `ltr rank DIR QUERY` does the same;",
        "`ltr validate DIR` checks the checksums in `run.json`.",
        "",
        "- `probability` is the softmax of the scores of the candidates that were scored for the query.",
        holds,
    ]
    if recall is not None:
        lines.append(
            f"- The catalogue is cut to a shortlist for each query, and probabilities are over it. Of the first "
            f"{recall.first} tools without the cut {recall.share:.1%} are among the first {recall.first} with it (mean "
            f"over {count(recall.queries, 'query', 'queries')}). `exact=True` turns it off."
        )
    return "\n".join([*lines, "", "| feature | weight |", "| --- | --- |", *weights, ""])


TOOL_PROGRAM = '''"""Which tool should answer a query?   python EXAMPLE "QUERY" """

import sys
from pathlib import Path

import ltr

router = ltr.load(Path(__file__).parent)
own = [{"name": name, "description": text.description} for name, text in (router.tools or {}).items()]
tools = own[:2] or [{"name": "get_weather", "description": "Weather of a city"}, {"name": "send_mail"}]
query = sys.argv[1] if len(sys.argv) > 1 else tools[0].get("description") or tools[0]["name"]
for choice in router.rank(query, None if router.tools else tools, k=3):
    print(choice.rank, choice.candidate, round(choice.probability, 3))
best = router.rank(query, tools, k=1, at_least=0.5)  # tools of one request: MCP, OpenAI or Anthropic objects
print("of two tools:", best[0].tool["name"] if best else "none is probable enough")
'''
GRAPH_PROGRAM = '''"""Which team should answer a query?   python EXAMPLE GRAPHS.jsonl "QUERY" """

import sys
from pathlib import Path

import ltr

if len(sys.argv) < 3:
    sys.exit(__doc__)
router = ltr.load(Path(__file__).parent, graphs=sys.argv[1])
for choice in router.rank(sys.argv[2], k=3):
    print(choice.rank, choice.candidate, round(choice.probability, 3))
'''
