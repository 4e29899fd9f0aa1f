"""What a reranker is: the documents that it reads, what it may know, its options; and all of them by name."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from ltr.arrays import LARGEST, FloatArray
from ltr.config import misfit
from ltr.errors import RangeError, UnknownNameError, UsageError, suggestion
from ltr.features import documents
from ltr.plugins import bad_result, plugin_errors, source_of, summary_of
from ltr.registry import RANGES, Registry
from ltr.samples import Candidates, Groups

CandidateKey = tuple[str, str, str]  # trace_id, node_id and name


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """The candidates of one query; no labels."""

    candidates: Candidates  # one group
    texts: tuple[str, ...]  # (rows,) what an encoder reads: tool_text or graph_text

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def keys(self) -> list[CandidateKey]:
        """The key of each row, unique among all rows of all queries."""
        own = self.candidates
        trace, node = own.trace_ids[own.traces[0]], own.node_ids[0]
        return [(trace, node, own.name_texts[code]) for code in own.names.tolist()]


@dataclass(frozen=True, slots=True, eq=False)
class QueryWithDocuments:
    """A query and the documents to rank for it."""

    query: str
    documents: Documents


def document_texts(candidates: Candidates) -> tuple[str, ...]:
    """Return the text of each row."""
    if candidates.kind == "graph":
        texts = [graph.text for graph in candidates.distinct_graphs]
        return tuple(texts[code] for code in candidates.graphs.tolist())
    tools = documents(candidates)
    return tuple(tools.texts[code] for code in tools.codes.tolist())


def queries_with_documents(groups: Groups) -> list[QueryWithDocuments]:
    """Return each group as a query with its documents, in order."""
    parts = [groups.select(np.array([group])).candidates for group in range(len(groups.offsets) - 1)]
    return [QueryWithDocuments(part.query_texts[0], Documents(part, document_texts(part))) for part in parts]


def collection(candidates: Candidates) -> Documents:
    """Return every distinct candidate of all groups, once, as the documents of a single query."""
    texts = document_texts(candidates)
    last_row = {pair: row for row, pair in enumerate(zip(candidates.names.tolist(), texts, strict=True))}
    rows = np.array(list(last_row.values()))
    merged = candidates.take(np.zeros(1, dtype=np.int64), rows, np.array([len(rows)]))
    return Documents(merged, tuple(texts[row] for row in rows.tolist()))


def labels_by_key(groups: Groups) -> dict[CandidateKey, float]:
    """Return the label of each row by its key."""
    keys = [key for query in queries_with_documents(groups) for key in query.documents.keys]
    return dict(zip(keys, groups.labels.tolist(), strict=True))


Reranker = Callable[[str, Documents], Any]  # a number for each document, the higher the better


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Setting:
    """What a reranker may know before the first query."""

    collection: Documents  # every candidate of the data, once
    seed: int = 0
    labels: Mapping[CandidateKey, float] = field(default_factory=dict)  # for the references alone
    allow_command: bool = False
    allow_download: bool = False


Absent = Callable[[str, Setting], str]


@dataclass(frozen=True, slots=True)
class RerankerKind:
    """A registered reranker. `make(setting, *[argument], **options)` is quick: slow work waits for the first query."""

    spelling: str  # NAME, or NAME:WHAT where something must follow the colon
    make: Callable[..., Reranker]
    absent: Absent | None  # why it cannot be used on this machine, "" where it can; None: it always can
    is_reference: bool  # beside the others for comparison, never a choice

    @property
    def summary(self) -> str:
        """What it does, in one line."""
        return summary_of(self.make)

    @property
    def options(self) -> dict[str, object]:
        """The options and their types: the keyword-only parameters."""
        parameters = inspect.signature(self.make).parameters.values()
        options = [parameter for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY]
        return {option.name: option.annotation for option in options}


RERANKERS: Registry[RerankerKind] = Registry(
    "reranker",
    {
        "ltr.rerankers.builtin": ("bm25", "random", "oracle"),
        "ltr.rerankers.encoders": (
            "hash",
            "static",
            "minilm",
            "sentence-transformers:NAME_OR_PATH",
            "cross-encoder:NAME_OR_PATH",
        ),
        "ltr.rerankers.program": ("command",),
        "ltr.rerankers.routers": ("model:RUN", "zero-shot:ENCODER"),
    },
)


def reranker(
    spelling: str, *, absent: Absent | None = None, is_reference: bool = False
) -> Callable[[Callable[..., Reranker]], Callable[..., Reranker]]:
    """Register a function that opens a reranker, under NAME, or NAME:WHAT if it takes an argument."""

    def register(function: Callable[..., Reranker]) -> Callable[..., Reranker]:
        RERANKERS.add(spelling, RerankerKind(spelling, function, absent, is_reference), made_of=function)
        return function

    return register


def registered_spelling(name: str) -> str:
    """Return the registered spelling of a name such as model:runs/tools; an unknown name lists the known ones.

    >>> registered_spelling("random")
    'random'
    """
    start, colon, argument = name.partition(":")
    spelling = next((name for name in RERANKERS.names() if name.partition(":")[0] == start), None)
    if spelling is None:
        raise UnknownNameError("reranker", name, RERANKERS.names())
    wanted = spelling.partition(":")[2]
    if bool(wanted) != bool(argument) or (colon and not wanted):
        raise UsageError(f"reranker {name!r}: {spelling} is needed")
    return spelling


@dataclass(frozen=True, slots=True)
class RerankerChoice:
    """A reranker by name, and its options where they are not the defaults."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        options, problems = self.kind.options, list[str]()
        for option, value in self.options.items():
            if option in options:
                problems += misfits(f"reranker {self.name}: {option}", options[option], value)
                continue
            hint = suggestion(option, options) or f"; known: {', '.join(options) or 'none'}"
            problems.append(f"reranker {self.name} has no option {option!r}{hint}")
        if problems:
            raise RangeError(*problems)

    @property
    def kind(self) -> RerankerKind:
        """The registered reranker."""
        return RERANKERS[registered_spelling(self.name)]

    @property
    def argument(self) -> str:
        """What follows the colon of its name."""
        return self.name.partition(":")[2]

    def absent(self, setting: Setting) -> str:
        """Return why it cannot be used here; "" when it can."""
        reason = self.kind.absent
        if reason is None:
            return ""
        with plugin_errors(f"reranker {self.name}", reason, RERANKERS.source(self.kind.spelling)):
            return str(reason(self.argument, setting))

    def opened(self, setting: Setting) -> Reranker:
        """Return the reranker, ready for the first query."""
        make, arguments = self.kind.make, [self.argument] if self.argument else []
        with plugin_errors(f"reranker {self.name}", make, RERANKERS.source(self.kind.spelling)):
            opened = make(setting, *arguments, **self.options)
        if not callable(opened):
            problem = f"opened {type(opened).__name__}; a function of (query, documents) is needed"
            raise bad_result(make, f"{self.name}: {problem}")
        return opened


def misfits(what: str, kind: Any, value: Any) -> Iterator[str]:
    """Yield what is wrong with a value of another type, or outside the range that its annotation names."""
    if problem := misfit(kind, value):
        yield f"{what}: {problem}"
        return
    for word in get_args(kind):
        if word in RANGES and not RANGES[word](value):
            yield f"{what} is {value!r}; a number {word} is needed"


def checked_scores(name: str, reranker: Reranker, query: str, documents: Documents) -> FloatArray:
    """Return the scores of the reranker, one finite number for each document."""
    with plugin_errors(f"reranker {name}", reranker, source_of(reranker)):
        result = reranker(query, documents)
    count = len(documents)
    try:
        scores = np.asarray(result, dtype=np.float64)
    except (TypeError, ValueError):
        problem = f"{name}: gave {type(result).__name__} for {count} documents; numbers are needed"
        raise bad_result(reranker, problem) from None
    if scores.shape != (count,):
        problem = f"{name}: gave scores of shape {scores.shape} for {count} documents; one each is needed"
        raise bad_result(reranker, problem)
    is_finite = np.abs(scores) <= LARGEST  # false for NaN
    if not is_finite.all():
        wrong = float(scores[int(np.argmin(is_finite))])
        raise bad_result(reranker, f"{name}: gave the score {wrong}; a finite number is needed")
    return scores.copy()
