"""What a router answers: a query with its candidates, best first."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import overload

from ltr.data.value_excerpts import excerpt, key_text
from ltr.serving import DEFAULT_K


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
        """What a notebook shows of it: the query and the first candidates, on one line."""
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
