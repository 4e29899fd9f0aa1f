"""A pack: what serving needs of a run and nothing else, as a directory or a zip file."""

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

import msgspec

from ltr import __version__
from ltr.config.run import RunConfig, load_config, render
from ltr.data.config import DataConfig
from ltr.data.groups import without_traces
from ltr.data.jsonlines import records
from ltr.data.outcome_groups import all_told
from ltr.errors import DiskError, UsageError, count, reason
from ltr.files.atomic_write import atomic_file, write_lines, write_text
from ltr.files.directory_lock import locked
from ltr.files.output_replacement import DirectoryKind, new_directory, new_files, refuse_existing
from ltr.files.path_arguments import AnyPath
from ltr.files.reading import read_bytes, read_lines
from ltr.serving.answers import Answer
from ltr.serving.router import Router, load
from ltr.serving.shortlist import MOST_SCORED
from ltr.storage.evaluation_records import QueryRecord
from ltr.storage.model_file import ARRAYS, MODEL
from ltr.storage.run_contents import NEEDED
from ltr.storage.run_directory import CONFIG, PER_QUERY, refuse_taken, write_record
from ltr.storage.run_record import RUN, RUN_FORMAT, TOOLS, RunRecord, run_record
from ltr.storage.training_groups import Learned, write_learned
from ltr.storage.update_state import TRAINING

CARD, EXAMPLE = "README.md", "example.py"
RECALL_AT, RECALL_QUERIES = 10, 32
EXTRAS = {"static": "the extra `static`", "minilm": "the extra `embed`"}
LARGEST_FILE = 1 << 30  # of a pack
EARLIEST = (1980, 1, 1, 0, 0, 0)  # time a zip file knows


def _is_pack(directory: Path) -> bool:
    """Whether a card and the record of what was packed lie there."""
    return run_record(directory) is not None and (directory / CARD).is_file()


FILES = (MODEL, ARRAYS, TOOLS, TRAINING, CONFIG, RUN, CARD, EXAMPLE)
PACK_KIND = DirectoryKind(files=FILES, folders={}, is_one=_is_pack)


@dataclass(frozen=True, slots=True)
class Packed:
    """What was packed."""

    path: str
    files: Mapping[str, int]  # bytes of each
    tools: int
    recall: float | None  # of a catalogue that is cut: of the first RECALL_AT without a cut, how many stay there
    queries: int  # that the recall is the mean of


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
        refuse_taken(target, overwrite=overwrite, kind=PACK_KIND)
    router = load(run, tools=tools)
    recall, queries = cut_recall(router, Path(run))
    material = material_of(router) if learns else None
    if is_file:
        with new_files(target) as new, temporary_folder() as folder:
            sizes = _write(folder, router, recall, queries, material)
            _zip(folder, new / target.name)
    else:
        with locked(target), new_directory(target) as home:
            sizes = _write(home, router, recall, queries, material)
    return Packed(target.as_posix(), sizes, len(router.tools or ()), recall, queries)


def material_of(router: Router) -> tuple[Learned, RunConfig]:
    """What a refit of the router learns from, and its config, which names no file of the run."""
    home = router.home
    if home is None or not (home / CONFIG).is_file():
        raise UsageError(f"{home}: no run with a config; only a run can be packed to learn")
    feedback, config = router.opened_feedback(), load_config(home / CONFIG)
    learned, journal = feedback.learned(), feedback.read()
    if not learned.has_texts or (learned.groups is None and config.data.train):
        raise UsageError(f"{home}: keeps no training queries, so a pack of it cannot learn from them")
    groups = None if learned.groups is None else without_traces(learned.groups, journal.forgotten)
    outcomes = all_told(learned.outcomes, journal.groups, journal.forgotten)
    own = DataConfig(split=config.data.split, previous=config.data.previous, texts=config.data.texts)
    return Learned(learned.rarity, groups, outcomes), replace(config, data=own)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """An empty folder for the time of the block."""
    try:
        folder = TemporaryDirectory()
    except OSError as error:
        raise DiskError(gettempdir(), reason(error)) from error
    with folder as name:
        yield Path(name)


def cut_recall(router: Router, run: Path) -> tuple[float | None, int]:
    """Mean share of the first RECALL_AT tools that a cut keeps among them, and the number of queries; None: no cut.

    The queries are those the run was measured on, else the texts of tools.
    """
    if router.kind != "tool" or not router.tools or len(router.tools) <= MOST_SCORED:
        return None, 0
    measured = run / PER_QUERY
    if measured.is_file():
        lines = records(measured, read_lines(measured), QueryRecord, NEEDED)
        queries = list(
            dict.fromkeys(line.query for _, line in islice(lines, 20 * RECALL_QUERIES) if line.query.strip())
        )
    else:
        step = max(len(router.tools) // RECALL_QUERIES, 1)
        queries = [text.description or name for name, text in islice(router.tools.items(), 0, None, step)]
    queries = queries[:: max(len(queries) // RECALL_QUERIES, 1)][:RECALL_QUERIES]
    exact = router.rank_many(queries, k=RECALL_AT, exact=True)
    return recall_of(router.rank_many(queries, k=RECALL_AT), exact), len(queries)


def recall_of(cut: Sequence[Answer], exact: Sequence[Answer]) -> float:
    """Mean share of the choices of the exact answers that the others have."""
    shares = [
        len({choice.candidate for choice in some} & {choice.candidate for choice in all_choices}) / len(all_choices)
        for some, all_choices in zip(cut, exact, strict=True)
    ]
    return sum(shares) / len(shares)


def _write(
    home: Path, router: Router, recall: float | None, queries: int, material: tuple[Learned, RunConfig] | None
) -> dict[str, int]:
    """The files of a pack, and how large each is."""
    router.save(home)
    if router.tools:
        tools = ({"name": name, **text._asdict()} for name, text in router.tools.items())
        write_lines(home / TOOLS, map(msgspec.json.encode, tools))
    if material is not None:
        write_learned(home / TRAINING, material[0])
        write_text(home / CONFIG, render(material[1]))
    elif (rarity := router.rarity) is not None:
        write_learned(home / TRAINING, Learned(rarity))
    write_text(home / CARD, readme_text(router, recall, queries))
    write_text(home / EXAMPLE, example_program(router))
    write_record(home, RunRecord(format=RUN_FORMAT, name="pack"))
    return {path.name: path.stat().st_size for path in sorted(home.iterdir())}


def _zip(folder: Path, out: Path) -> None:
    """The files of the folder as one zip file, without times, so that the same pack has the same bytes."""
    with atomic_file(out) as sink, zipfile.ZipFile(sink, "w") as archive:
        for path in sorted(folder.iterdir()):
            archive.writestr(
                zipfile.ZipInfo(path.name, EARLIEST), read_bytes(path, limit=LARGEST_FILE), zipfile.ZIP_DEFLATED
            )


def readme_text(router: Router, recall: float | None, queries: int) -> str:
    """README.md of a pack: what it is, what it needs, and what its numbers mean."""
    encoder = router.features.encoder.name if router.features else ""
    needs = f"; its encoder needs {EXTRAS[encoder]}" if encoder in EXTRAS else ""
    weights = [f"| `{name}` | {weight:+.4g} |" for name, weight in zip(router.names, router.w.tolist(), strict=False)]
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
        none_text(router),
    ]
    if recall is not None:
        lines.append(
            f"- The catalogue is cut to a shortlist for each query, and probabilities are over it. Of the first "
            f"{RECALL_AT} tools without the cut {recall:.1%} are among the first {RECALL_AT} with it (mean over "
            f"{count(queries, 'query', 'queries')}). `exact=True` turns it off."
        )
    return "\n".join([*lines, "", "| feature | weight |", "| --- | --- |", *weights, ""])


def none_text(router: Router) -> str:
    """Whether an answer says that none of the candidates is right, and for which share of queries."""
    if router.none is None:
        return "  Nothing says that one of them is right: choose the threshold `at_least` on queries of yours."
    share = f"{router.none.share:.3g}"
    return (
        f"  They share what `answer.none` leaves: P(none is right), where that holds of a share of {share} of queries."
    )


def example_program(router: Router) -> str:
    """example.py of a pack: a program that runs beside it."""
    return (TOOL_PROGRAM if router.kind == "tool" else GRAPH_PROGRAM).replace("EXAMPLE", EXAMPLE)


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
