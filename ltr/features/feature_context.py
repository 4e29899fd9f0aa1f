"""What the functions of a feature are given beside the candidates."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np

from ltr.arrays import FloatArray, IntArray, State
from ltr.data.candidates import Candidates
from ltr.encoders.protocol import Encoder
from ltr.encoders.vectors import Vectors
from ltr.features.lexicon import Lexicon
from ltr.features.row_queries import row_queries

Shared = Callable[..., Any]  # of (candidates, context): what several features read
StateMemo = dict[tuple[Shared, int, tuple[float, ...]], tuple[State, Any]]
Subject = TypeVar("Subject")
Value = TypeVar("Value")


class Texts(Protocol):
    """What a function of (candidates, context) returns for an encoder: distinct texts, and what says whose they are."""

    @property
    def texts(self) -> tuple[str, ...]:
        """What the encoder reads."""
        ...


TextSource = Callable[..., Texts]


@dataclass(frozen=True, slots=True)
class Context:
    """What a feature may use besides the candidates; never labels."""

    encoder: Encoder
    lexicon: Lexicon = field(default_factory=Lexicon)
    vectors: dict[TextSource, Vectors] = field(default_factory=dict)  # of the texts that the features name, in order
    memo: dict[Shared, tuple[object, Any]] = field(default_factory=dict)
    of_states: StateMemo = field(default_factory=dict)
    table: Any = None  # what the feature prepared of the tools, a row for each
    tools: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # (rows,) the row of each there

    def cosines(self, candidates: Candidates, texts: tuple[str, ...], codes: IntArray) -> FloatArray:
        """Cosine of each row's query and its text, texts[codes[row]]; 0 where either says nothing."""
        queries = self.encoder.encode(candidates.query_texts, "query")
        return queries.dots(row_queries(candidates), self.encoder.encode(texts, "document"), codes)

    def shared(self, compute: "Callable[[Subject, Context], Value]", subject: Subject) -> Value:
        """compute(subject, context), computed once for all features that read it; nobody may write to it.

        Only the value of the last subject is held, of candidates or groups.
        """
        entry = self.memo.get(compute)
        if entry is None or entry[0] is not subject:
            entry = self.memo[compute] = (subject, compute(subject, self))
        value: Value = entry[1]
        return value

    def prepared(self, kind: type[Value]) -> Value:
        """The table, which is of that class."""
        if not isinstance(self.table, kind):
            raise TypeError(f"{kind.__name__} is needed; what was prepared is {type(self.table).__name__}")
        return self.table

    def of_state(self, compute: Callable[..., Value], state: State, **options: float) -> Value:
        """compute(state), computed once for a state, however often tools are added to what is prepared."""
        key = (compute, id(state), tuple(options.values()))
        entry = self.of_states.get(key)
        if entry is None:
            entry = self.of_states[key] = (state, compute(state, **options))  # a state that is held keeps its id
        value: Value = entry[1]
        return value
