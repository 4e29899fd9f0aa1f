"""What a router is asked, checked in one place, and what it answers: a query with its candidates, best first."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Self, TypedDict, overload

from ltr.arrays import FloatArray
from ltr.errors import UsageError, suggestion
from ltr.jsonl import excerpt, key_text
from ltr.serving import DEFAULT_K
from ltr.steps import Ranked


@dataclass(frozen=True, slots=True)
class Choice:
    """One ranked candidate."""

    rank: int
    candidate: str
    probability: float  # softmax of the scores of all scored candidates, of what P(none) leaves
    score: float
    contributions: dict[str, float]  # of each feature to the score
    text: str  # the candidate as a person is told it: a graph with its first nodes
    tool: object | None = None  # the object that the caller gave for it


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """A query and its candidates, best first; equal scores by name. It is a sequence of its choices."""

    trace_id: str
    node_id: str
    query: str
    choices: tuple[Choice, ...]
    scored: int  # candidates that share the probability
    offered: int  # candidates there were: more than were scored where a large catalogue was cut
    warnings: tuple[str, ...] = ()  # why the ranking of the samples may mean less than it seems to
    none: float | None = None  # how probably nothing offered is right; None of a model that did not learn it
    abstains: bool = False  # the first choice is not sure enough, by the rule of the model
    outcomes: Mapping[str, float] = field(default_factory=dict)  # explained: what each adds to the first choice, by id

    def __repr__(self) -> str:
        """Show the query and the first candidates, on one line of a notebook."""
        listed = [f"{key_text(choice.candidate)} {choice.probability:.3f}" for choice in self.choices[:DEFAULT_K]]
        if more := len(self.choices) - len(listed):
            listed.append(f"and {more:,} more")
        return f"<Answer {excerpt(self.query)}: {', '.join(listed) or 'none'}>"

    def __iter__(self) -> Iterator[Choice]:
        return iter(self.choices)

    def __len__(self) -> int:
        return len(self.choices)

    @overload
    def __getitem__(self, place: int) -> Choice: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Choice, ...]: ...

    def __getitem__(self, place: int | slice) -> Choice | tuple[Choice, ...]:
        return self.choices[place]


class RankKeywords(TypedDict, total=False):
    """The options of `rank`, `rank_many` and `arank` that are given by name."""

    at_least: float | None  # only choices that are so probable
    previous: Sequence[str] | None  # names used before in the same trace
    exact: bool  # every tool of a large catalogue is scored, not a shortlist


@dataclass(frozen=True, slots=True)
class RankOptions:
    """The first k choices, all where k is None, that are probable enough."""

    k: int | None = DEFAULT_K
    at_least: float | None = None
    previous: tuple[str, ...] | None = None
    exact: bool = False

    @classmethod
    def of(cls, k: int | None, named: RankKeywords) -> Self:
        """Return the options of a call; an error names one that cannot be."""
        for name in named:
            if name not in RankKeywords.__annotations__:
                close = suggestion(name, RankKeywords.__annotations__)
                raise UsageError(f"rank has no option {name}{close}; {', '.join(RankKeywords.__annotations__)}")
        at_least, previous = named.get("at_least"), named.get("previous")
        if k is not None and (not isinstance(k, Integral) or isinstance(k, bool)):
            raise UsageError(f"k is {excerpt(k)}; a whole number is needed, or None for all")
        if k is not None and k < 1:
            raise UsageError(f"k is {k}; at least 1 is needed")
        is_probability = isinstance(at_least, Real) and not isinstance(at_least, bool) and 0 <= float(at_least) <= 1
        if at_least is not None and not is_probability:
            raise UsageError(f"at_least is {excerpt(at_least)}; a probability from 0 to 1 is needed")
        refuse_unusable_names(previous)
        return cls(k, at_least, None if previous is None else tuple(previous), named.get("exact", False))


def checked_queries(queries: Iterable[str]) -> list[str]:
    """Return the queries; raise unless each is a text that says something."""
    if isinstance(queries, str) or not isinstance(queries, Iterable):
        raise UsageError(f"queries is {excerpt(queries)}; a list of texts is needed (rank takes a single one)")
    texts = list(queries)
    for text in texts:
        if not isinstance(text, str):
            raise UsageError(f"the query is {excerpt(text)}; a text is needed")
        if not text.strip():
            raise UsageError(f"the query {text!r} says nothing; a text is needed")
    return texts


def refuse_unusable_names(previous: object) -> None:
    """Raise unless these are names, or None."""
    names = previous if isinstance(previous, Sequence) and not isinstance(previous, str | bytes) else [None]
    if previous is not None and not all(isinstance(name, str) for name in names):
        raise UsageError(f"previous is {excerpt(previous)}; a list of names is needed, or None")


def answers_of(
    ranked: Ranked,
    parts: Callable[[FloatArray], FloatArray],
    wanted: RankOptions,
    *,
    objects: tuple[object, ...] = (),
    offered: int | None = None,
    warnings: tuple[str, ...] = (),
) -> Iterator[Answer]:
    """Yield the answer to each query that was ranked; `parts` are what the columns of a row add to its score.

    `objects` are what the caller gave for the names; the candidates may be some of so many that were offered.
    """
    candidates, probabilities, bounds = ranked.candidates, ranked.probabilities(), ranked.candidates.offsets.tolist()
    for group, (start, stop) in enumerate(zip(bounds[:-1], bounds[1:], strict=True)):
        rows = ranked.order[start:stop][: wanted.k]
        if wanted.at_least is not None:
            rows = rows[probabilities[rows] >= wanted.at_least]
        adds = parts(ranked.phi[rows]).tolist()
        choices = [
            Choice(
                rank=place,
                candidate=candidates.name_texts[candidates.names[row]],
                probability=float(probabilities[row]),
                score=float(ranked.scores[row]),
                contributions=dict(zip(ranked.names, added, strict=True)),
                text=candidates.text(row),
                tool=objects[candidates.names[row]] if objects else None,
            )
            for place, (row, added) in enumerate(zip(rows.tolist(), adds, strict=True), start=1)
        ]
        yield Answer(
            candidates.trace_ids[candidates.traces[group]],
            candidates.node_ids[group],
            candidates.query_texts[candidates.queries[group]],
            tuple(choices),
            scored=stop - start,
            offered=stop - start if offered is None else offered,
            warnings=warnings,
            **{name: values[group] for name, values in ranked.said.items()},
        )
