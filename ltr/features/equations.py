"""The equations of `tool.ridge`: likenesses of training queries, the coefficients of tools, and what left out ones get.

K = likeness of two queries, p = the penalty, t = traces in which a query was answered: (K + p/t) a = shares of answers.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from ltr.arrays import BoolArray, FloatArray, IntArray, Ragged, State, most_frequent
from ltr.encoders import Dense, Sparse, Vectors
from ltr.errors import UsageError
from ltr.features.algebra import PositiveDefinite, all_dots, solution
from ltr.features.likeness import STORED_QUERIES, Rarity
from ltr.features.tables import encoder_revision, spelled_table
from ltr.features.texts import row_queries
from ltr.features.vectors import ToolVectors
from ltr.memory import return_freed_memory
from ltr.registry import Positive
from ltr.samples import Candidates
from ltr.states import Floats, Json, Record, TextTable, learns
from ltr.tables import KEY, Part, digests, halves, merged, release

PENALTY = 0.25  # of the squared weights, where the likeness of a query to itself is 1
MOST_AT_ONCE = 1 << 14  # queries whose equations are inverted, once for all folds: half a matrix, at most 1 GB
MOST_QUERIES = 1 << 13  # that are left where there are more, and the equations of each fold are solved
MOST_NUMBERS = 1 << 25  # of all tools together: 64 MB in half precision, four times as much when they are used
LIKENESSES = 1 << 18  # of queries that are computed at once
TRIMMED_AFTER = 32  # blocks of likenesses: then freed memory goes back
UNANSWERED = 1e-6  # of a trace: what it counts that a query was asked where no tool answered it
DIGITS = 6  # of a value of queries left out: beyond, it is rounding, which answers that are left out would move
TOO_SMALL = (
    "the feature tool.ridge: its penalty is too small: two queries are so alike that its equations have no one "
    f"solution, or one too large to store; {PENALTY} is the default"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """Training queries, as their likeness reads them."""

    revision: str  # of the encoder
    rarity: Rarity
    grams: Sparse
    vectors: Vectors

    @classmethod
    def of(cls, part: Part, chosen: IntArray) -> Self:
        """Return some of the queries of a part; all of these, answered or not, say how rare a gram is."""
        facts = part["queries"].facts
        grams, vectors, revision = facts["grams"].take(chosen), facts["vectors"].take(chosen), encoder_revision(part)
        release(part)
        rarity = Rarity.counted(grams)
        return cls(revision, rarity, rarity.rows(grams), vectors)

    def __len__(self) -> int:
        return len(self.grams)

    def take(self, queries: IntArray) -> "Asked":
        """Return these of the queries; their grams stay as rare as they were."""
        return Asked(self.revision, self.rarity, self.grams.take(queries), self.vectors.take(queries))

    def factorised(self, penalties: FloatArray) -> PositiveDefinite:
        """Return K, and on its diagonal the penalties: half of it is computed and held."""
        equations, at_once = PositiveDefinite(len(self)), max(LIKENESSES // max(len(self), 1), 1)
        places = np.arange(len(self))
        for first in range(0, len(self), at_once):
            block, earlier = places[first : first + at_once], places[: first + at_once]
            by_grams, by_vectors = (all_dots(of.take(block), of.take(earlier)) for of in (self.grams, self.vectors))
            likeness = (2 * by_grams + by_vectors) / 3
            likeness[block - first, block] += penalties[block]
            equations.set_rows(first, likeness)
            if (first // at_once + 1) % TRIMMED_AFTER == 0:
                return_freed_memory()  # each block is larger than those before, and finds no room where they were
        if len(self) > at_once * TRIMMED_AFTER:
            return_freed_memory()
        try:
            equations.factorise()
        except np.linalg.LinAlgError as error:
            raise UsageError(TOO_SMALL) from error
        return equations

    def state(self, tools: Ragged, coefficients: npt.NDArray[np.float16]) -> State:
        """Return the queries with the coefficients of tools of these names, (tools, queries)."""
        rows = replace(self.grams, numbers=self.grams.numbers.astype(np.float32))
        return {
            "revision": self.revision,
            **self.rarity.stored(rows, self.vectors),
            "tools": spelled_table(tools),
            "coefficients": coefficients,
        }


@dataclass(frozen=True, slots=True)
class Answers:
    """Which tools answered which queries, in how many traces."""

    queries: IntArray  # (answers,): places
    tools: IntArray  # (answers,): places
    times: IntArray  # (answers,)

    @classmethod
    def of(cls, part: Part, queries: npt.NDArray[np.bytes_], tools: npt.NDArray[np.bytes_]) -> Self:
        """Return those of a part, by the places of their keys."""
        tool_keys, query_keys = halves(part["answers"].keys)
        places = np.searchsorted(queries, query_keys), np.searchsorted(tools, tool_keys)
        return cls(*places, part["answers"].sums["times"])

    def only(self, those: BoolArray) -> "Answers":
        """Return some of them."""
        return Answers(self.queries[those], self.tools[those], self.times[those])

    @classmethod
    def stacked(cls, parts: "Sequence[Answers]") -> Self:
        """Return those of all parts, one behind the other."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("queries", "tools", "times")))

    def shares(self, queries: IntArray, times: FloatArray, shape: tuple[int, int]) -> FloatArray:
        """Return in which share of the traces of rising queries each tool answered them: (tools, queries)."""
        place = np.full(max(int(self.queries.max(initial=0)), int(queries.max(initial=0))) + 1, -1)
        place[queries] = np.arange(len(queries))
        here = self.only(place[self.queries] >= 0)
        shares = np.zeros(shape)
        np.add.at(shares, (here.tools, place[here.queries]), here.times / times[here.queries])
        return shares

    def recur(self) -> bool:
        """Return whether some tool answered two queries: else one that answered elsewhere never answers again."""
        pairs = np.unique(np.stack([self.tools, self.queries]), axis=1)  # a query may be answered in several parts
        return bool(np.bincount(pairs[0]).max(initial=0) > 1)


@learns(
    Record(
        revision=Json(str),
        **STORED_QUERIES,
        tools=TextTable("tools"),
        coefficients=Floats("tools", "queries", signed=True),
    )
)
def ridge_state(part: Part, *, penalty: Positive = PENALTY) -> State:
    """Return of each tool the coefficients a of the answered queries: (K + penalty / times) a = share of its answers.

    K = likeness of two queries, times = traces in which a query was answered. Of more than MOST_QUERIES those stay that
    their tools answered first, in the order of digests; of too many coefficients those of the tools that answered most.
    Where no tool answered two queries none is stored: to have answered would tell that it is not right again.
    """
    queries, tools = part["queries"], part["tools"]
    answers = Answers.of(part, queries.keys, tools.keys)
    support = np.bincount(answers.tools, minlength=len(tools))
    place_in_tool = np.full(len(queries), len(answers.tools))
    first = (np.cumsum(support) - support)[answers.tools]
    np.minimum.at(place_in_tool, answers.queries, np.arange(len(answers.tools)) - first)
    chosen = np.sort(np.argsort(place_in_tool, kind="stable")[:MOST_QUERIES])
    times = queries.sums["times"][chosen]
    is_answered = times > 0
    chosen_answered, times = chosen[is_answered], times[is_answered]
    stored = _stored(answers, len(tools), len(chosen_answered))
    names = tools.facts["name"].take(stored)
    row, column = np.full(len(queries), -1), np.full(len(tools), -1)
    row[chosen_answered], column[stored] = np.arange(len(chosen_answered)), np.arange(len(stored))
    used = answers.only((row[answers.queries] >= 0) & (column[answers.tools] >= 0))
    used = Answers(row[used.queries], column[used.tools], used.times)
    asked = Asked.of(part, chosen).take(np.flatnonzero(is_answered))
    return asked.state(names, _coefficients(asked.factorised(penalty / times), used, times, len(stored)))


def _stored(answers: Answers, tools: int, queries: int) -> IntArray:
    """Return the tools that have coefficients: of too many those that answered most queries."""
    support = np.bincount(answers.tools, minlength=tools)
    return most_frequent(support, MOST_NUMBERS // max(queries, 1) if answers.recur() else 0)


def _coefficients(
    equations: PositiveDefinite, answers: Answers, times: IntArray, tools: int
) -> npt.NDArray[np.float16]:
    """Return the coefficients of tools, (tools, queries), that give their shares; solved a few tools at a time."""
    coefficients = np.zeros((tools, len(equations)), dtype=np.float16)
    at_once = max(4 * LIKENESSES // max(len(equations), 1), 1)
    for first in range(0, tools, at_once):
        block = coefficients[first : first + at_once]
        here = answers.only((answers.tools >= first) & (answers.tools < first + len(block)))
        shares = np.zeros(block.shape[::-1], order="F")
        shares[here.queries, here.tools - first] = here.times / times[here.queries]
        block[:] = _halved(equations.solution(shares)).T
    return coefficients


def _halved(coefficients: FloatArray) -> npt.NDArray[np.float16]:
    """Return the coefficients as a state holds them."""
    if not (np.abs(coefficients) <= np.finfo(np.float16).max).all():  # NaN is not
        raise UsageError(TOO_SMALL)
    return coefficients.astype(np.float16)


@dataclass(frozen=True, slots=True)
class LeftOutRidge:
    """What the regressions say once some parts are left out: of all from one factorisation, with no state in between.

    G = (K + p/t)^-1 of all queries, Y = their shares. Of the t traces of each of the queries S some, s, are left out;
    Y' are the shares in the others. With M = G_SS + t (t - s) / (p s) on the diagonal and z = M^-1 (G Y')_S the values
    of S are Y'_S - (t / s) z, and the coefficients G (Y' - z).
    """

    penalty: float
    keys: npt.NDArray[np.bytes_]  # of the queries; they rise
    asked: Asked
    times: FloatArray  # (parts, queries): traces in which each was answered; UNANSWERED where it was only asked
    parts: IntArray  # (answers,): the part of each of the answers
    answers: Answers
    tool_keys: npt.NDArray[np.bytes_]  # of the tools that have coefficients; they rise
    tools: Ragged  # their names
    inverse: PositiveDefinite  # G
    coefficients: FloatArray  # G Y, (tools, queries)

    @classmethod
    def of(cls, parts: Sequence[Part], penalty: float) -> "LeftOutRidge | None":
        """Return the equations of all parts; None where their queries are none, or too many to invert them."""
        if max(len(part["queries"]) for part in parts) > MOST_AT_ONCE:
            return None
        whole = merged(*parts)
        queries, tools = whole["queries"], whole["tools"]
        if not 0 < len(queries) <= MOST_AT_ONCE:
            return None
        times, each = np.zeros((len(parts), len(queries))), []
        for of_part, part in zip(times, parts, strict=True):
            places = np.searchsorted(queries.keys, part["queries"].keys)
            of_part[places] = np.maximum(part["queries"].sums["times"], UNANSWERED)
            each.append(Answers.of(part, queries.keys, tools.keys))
        total, asked = times.sum(axis=0), Asked.of(whole, np.arange(len(queries)))
        stored = _stored(Answers.of(whole, queries.keys, tools.keys), len(tools), len(queries))
        place = np.full(len(tools), -1)
        place[stored] = np.arange(len(stored))
        in_parts = np.repeat(np.arange(len(parts)), [len(answers.tools) for answers in each])
        answers = Answers.stacked(each)
        is_stored = place[answers.tools] >= 0
        answers, in_parts = answers.only(is_stored), in_parts[is_stored]
        answers = Answers(answers.queries, place[answers.tools], answers.times)
        inverse = asked.factorised(penalty / total)
        try:
            inverse.invert()
        except np.linalg.LinAlgError as error:
            raise UsageError(TOO_SMALL) from error
        shares, coefficients = answers.times / total[answers.queries], np.empty((len(stored), len(queries)))
        places, at_once = np.arange(len(queries)), max(4 * LIKENESSES // len(queries), 1)
        for first in range(0, len(queries), at_once):
            block = places[first : first + at_once]
            rows = Dense(inverse.block(places, block))
            coefficients[:, block] = rows.sums(answers.tools, answers.queries, shares, len(stored)).numbers
        names = tools.facts["name"].take(stored)
        said = asked, times, in_parts, answers, tools.keys[stored], names
        return cls(penalty, queries.keys, *said, inverse, coefficients)

    def rest(self, left_out: Collection[int]) -> State:
        """Return what `left_out_values` reads: what is known of the queries of the parts without these parts."""
        without = _Without.of(self, left_out)
        return {
            "keys": self.keys[without.queries].view(np.uint8),
            "tools": self.tool_keys.view(np.uint8),
            "shares": without.shares,
            "targets": without.targets,
            "ratios": without.ratios,
            "matrix": without.matrix,
            "recur": without.rest.recur(),
        }

    @staticmethod
    def column(candidates: Candidates, rest: State) -> FloatArray:
        """Return the values of candidates whose queries were all asked in the parts that are left out."""
        return left_out_values(candidates, rest)

    def state(self, left_out: Collection[int]) -> State:
        """Return what is learned without the parts."""
        without = _Without.of(self, left_out)
        stays = np.flatnonzero(without.times > len(self.times) * UNANSWERED)  # answered in some trace
        asked = self.asked.take(stays)
        if not without.rest.recur():
            return asked.state(self.tools.take(stays[:0]), np.zeros((0, len(stays)), dtype=np.float16))
        coefficients, changes = np.empty((len(self.coefficients), len(stays)), np.float16), without.changes()
        at_once = max(4 * LIKENESSES // max(len(without.queries), 1), 1)
        for first in range(0, len(stays), at_once):
            block = stays[first : first + at_once]
            change = changes @ self.inverse.block(without.queries, block)
            coefficients[:, first : first + at_once] = _halved(self.coefficients[:, block] + change)
        return asked.state(self.tools, coefficients)


def left_out_values(candidates: Candidates, rest: State) -> FloatArray:
    """Return Y'_S - (t / s) M^-1 (G Y')_S for each row: see `LeftOutRidge`."""
    queries, tool_keys = row_queries(candidates), rest["tools"].view(KEY)
    names = digests(candidates.name_texts)
    place = np.searchsorted(tool_keys, names)
    tools = np.where(np.append(tool_keys, b"")[place] == names, place, -1)[candidates.names]
    values, rows = np.zeros(len(queries)), np.flatnonzero(tools >= 0)
    if len(rows) and rest["recur"]:
        asked = np.searchsorted(rest["keys"].view(KEY), digests(candidates.query_texts))
        unit = np.zeros((len(rest["ratios"]), len(asked)), order="F")
        unit[asked, np.arange(len(asked))] = 1
        weights = Dense(-rest["ratios"][asked, None] * _solution(rest["matrix"], unit).T)
        values[rows] = ToolVectors.of(Dense(rest["targets"])).products(weights, queries[rows], tools[rows])
        values[rows] += rest["shares"][tools[rows], asked[queries[rows]]]
    return values.round(DIGITS) + 0.0  # no -0


def _solution(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Return x with M x = right."""
    try:
        return solution(matrix, right)
    except np.linalg.LinAlgError as error:
        raise UsageError(TOO_SMALL) from error


@dataclass(frozen=True, slots=True)
class _Without:
    """What is left out of the equations of all parts, and what they say of the queries S of which some traces are."""

    queries: IntArray  # S: places, rising
    times: FloatArray  # of all queries: t - s
    rest: Answers  # those that stay
    shares: FloatArray  # Y'_S, (tools, S)
    share_changes: FloatArray  # (Y' - Y)_S, (tools, S)
    targets: FloatArray  # (G Y')_S, (tools, S)
    ratios: FloatArray  # (S,): t / s
    matrix: FloatArray  # M

    @classmethod
    def of(cls, whole: LeftOutRidge, left_out: Collection[int]) -> Self:
        """Return these of the parts left out."""
        is_left = np.isin(np.arange(len(whole.times)), list(left_out))
        total, times, left = (whole.times[those].sum(axis=0) for those in (is_left | True, ~is_left, is_left))
        queries, rest = np.flatnonzero(left), whole.answers.only(~is_left[whole.parts])
        shape = len(whole.coefficients), len(queries)
        shares = rest.shares(queries, times, shape)
        changes, matrix = shares - whole.answers.shares(queries, total, shape), whole.inverse.block(queries, queries)
        tools, touched = np.nonzero(changes)
        targets = (
            whole.coefficients[:, queries]
            + Dense(matrix).sums(tools, touched, changes[tools, touched], shape[0]).numbers
        )
        t, s = total[queries], left[queries]
        matrix[np.diag_indices_from(matrix)] += t * times[queries] / (whole.penalty * s)
        return cls(queries, times, rest, shares, changes, targets, t / s, matrix)

    def changes(self) -> FloatArray:
        """Return what G makes changes of coefficients of: Y' - Y - z, (tools, S)."""
        changes: FloatArray = self.share_changes - _solution(self.matrix, self.targets.T).T
        return changes


def ridge_left_out(parts: Sequence[Part], *, penalty: Positive = PENALTY) -> LeftOutRidge | None:
    """Return what the regressions say without some parts; None of more than MOST_AT_ONCE: they are solved anew."""
    return LeftOutRidge.of(parts, penalty)
