"""The columns that grow while samples are read, an entry a line; a line that contradicts an earlier one is refused.

Errors are FieldErrors: the loop that reads adds file and line.
"""

import math
from array import array
from collections.abc import Sequence
from typing import TypeVar

from ltr.data.draw_rules_and_probabilities import DRAW_RULES, LOGGED
from ltr.data.integer_codes import Codes, NameCodes
from ltr.data.schema import NEEDED, NO_TREE, Candidate, Id, Kind, Sample, seconds
from ltr.data.source_files import SourceFile, place
from ltr.data.value_excerpts import excerpt
from ltr.errors import FieldError

Value = TypeVar("Value")

NO_FEATURES = -1
BESIDE_NONE = (
    *("tool", "tool_description", "candidate_id", "candidate_type", "tree"),
    *("features", "drawn", "draw_probability"),
)


class GroupColumns:
    """One entry a group: key, query, context, what was used before, weight, time, outcome.

    Lines of one group that contradict each other are refused.
    """

    def __init__(self, files: Sequence[SourceFile]) -> None:
        self.files = files
        self.key: tuple[Id, Id, str] | None = None  # of the line before: most lines repeat it
        self.group = -1
        self.codes, self.trace_codes, self.node_codes, self.query_codes = (Codes() for _ in range(4))
        self.traces, self.nodes, self.queries, self.first_lines = (array("q") for _ in range(4))
        self.weights: dict[int, tuple[float, int]] = {}  # of a group: the value and the line that has it first
        self.times: dict[int, tuple[float, int]] = {}
        self.outcomes: dict[int, tuple[str, int]] = {}
        self.contexts: dict[int, tuple[str, int]] = {}
        self.previous: dict[int, tuple[tuple[str, ...], int]] = {}
        self.context_texts: dict[str, str] = {}  # each held once, however many groups have it
        self.previous_names = NameCodes("previous")

    def enter(self, sample: Sample, line: int) -> int:
        """The code of the line's group, which becomes the current one."""
        key = self.key
        if key is None or sample.node_id != key[1] or sample.trace_id != key[0] or sample.query != key[2]:
            trace, node = self.trace_codes[str(sample.trace_id)], self.node_codes[str(sample.node_id)]
            self.group = self.codes[trace << 32 | node]  # one integer takes half the memory of a pair
            query = self.query_codes[sample.query]
            if self.group == len(self.traces):
                self.traces.append(trace)
                self.nodes.append(node)
                self.queries.append(query)
                self.first_lines.append(line)
            elif self.queries[self.group] != query:
                earlier_query = list(self.query_codes)[self.queries[self.group]]
                raise self._contradiction("query", sample.query, earlier_query, self.first_lines[self.group])
            self.key = sample.trace_id, sample.node_id, sample.query
        if sample.weight is not None:
            self._set("weight", self.weights, sample.weight, line)
        if sample.time is not None:
            self._set("time", self.times, seconds(sample.time), line)
        if sample.outcome is not None:
            self._set("outcome", self.outcomes, str(sample.outcome), line)
        if sample.context is not None:
            context = self.context_texts.setdefault(sample.context, sample.context)
            self._set("context", self.contexts, context, line)
        if sample.previous is not None:
            self._set("previous", self.previous, self._names(sample.previous), line)
        return self.group

    def _names(self, previous: list[str]) -> tuple[str, ...]:
        """The names; a name that was met before is the same text in memory."""
        for name in previous:
            self.previous_names[name]
        return tuple(previous)

    def _set(self, field: str, values: dict[int, tuple[Value, int]], value: Value, line: int) -> None:
        earlier_value, earlier_line = values.setdefault(self.group, (value, line))
        if earlier_value != value:
            raise self._contradiction(field, value, earlier_value, earlier_line)

    def _contradiction(self, field: str, value: object, earlier_value: object, earlier_line: int) -> FieldError:
        path, number = place(self.files, earlier_line)
        remedy = "; each query of a trace needs a node_id of its own" if field == "query" else ""
        problem = f"found {excerpt(value)}; {path}:{number} has {excerpt(earlier_value)} for the same group{remedy}"
        return FieldError(field, problem)


class RowColumns:
    """One entry a candidate. All are of one kind and have the same number of features."""

    def __init__(self, labels_required: bool) -> None:
        self.labels_required = labels_required
        self.kind: Kind | None = None
        self.width: int | None = None
        self.byte_count = 0  # of the lines, counted only where a limit is set
        self.tool_codes, self.id_codes = NameCodes("tool"), NameCodes("candidate_id")
        self.description_codes, self.type_codes, self.tree_codes = (Codes() for _ in range(3))
        self.lines, self.groups, self.names = (array("q") for _ in range(3))
        self.descriptions, self.types, self.trees = (array("q") for _ in range(3))
        self.labels, self.features = array("d"), array("d")
        self.draw_rules, self.draw_probabilities = array("q"), array("d")  # up to the last row that was drawn
        self.none_groups, self.none_lines, self.none_labels = array("q"), array("q"), array("d")

    def add_all(self, sample: Sample, group: int, line: int) -> None:
        """The rows of a line that holds several candidates."""
        if not sample.candidates:
            raise FieldError("candidates", "found []; at least one candidate is needed")
        for field in ("tool", "candidate_id", "label", "features", "drawn", "draw_probability", "none"):
            if getattr(sample, field) is not None:
                raise FieldError(field, "stands beside candidates; its place is inside one of them")
        for index, candidate in enumerate(sample.candidates):
            try:
                self.add(candidate, group, line)
            except FieldError as cause:
                field, problem = cause.args
                raise FieldError(f"candidates[{index}].{field}", problem) from cause

    def add(self, candidate: Candidate, group: int, line: int) -> None:
        """One more row; that nothing offered is right is none."""
        tool, label, features = candidate.tool, candidate.label, candidate.features
        if candidate.none:
            self._add_none(candidate, group, line)
            return
        if tool is None or candidate.candidate_id is not None or self.kind != "tool":
            self._settle_kind(candidate)
        if (NO_FEATURES if features is None else len(features)) != self.width:
            self._settle_width(features)
        if label is None:
            if self.labels_required:
                raise FieldError("label", f"missing; {NEEDED['label']}")
            label = math.nan
        if tool is None:
            self.names.append(self.id_codes[str(candidate.candidate_id)])
            self.types.append(self.type_codes[candidate.candidate_type or ""])
            self.trees.append(self.tree_codes[bytes(candidate.tree)])
        else:
            self.names.append(self.tool_codes[tool])
            self.descriptions.append(self.description_codes[candidate.tool_description or ""])
        if features is not None:
            self.features.fromlist(features)
        if candidate.drawn is not None or candidate.draw_probability is not None:
            self._add_draw(candidate)
        self.labels.append(label)
        self.groups.append(group)
        self.lines.append(line)

    def _add_none(self, candidate: Candidate, group: int, line: int) -> None:
        for field in BESIDE_NONE:
            value = getattr(candidate, field)
            if value is not None and (field != "tree" or bytes(value) not in NO_TREE):
                raise FieldError(field, "stands beside none; a candidate is a tool, a graph or none")
        if candidate.label is None and self.labels_required:
            raise FieldError("label", "missing; 0 or 1 is needed beside none")
        if candidate.label not in (None, 0, 1):
            raise FieldError("label", f"found {excerpt(candidate.label)}; 0 or 1 is needed beside none")
        self.none_groups.append(group)
        self.none_lines.append(line)
        self.none_labels.append(math.nan if candidate.label is None else candidate.label)

    def _add_draw(self, candidate: Candidate) -> None:
        """That the row to come was drawn, and how probably it would be; NaN for a random one that does not say it."""
        missing = len(self.labels) - len(self.draw_rules)
        unknown = 1.0 if candidate.drawn == "near" else math.nan
        rule = LOGGED if candidate.drawn is None else DRAW_RULES.index(candidate.drawn) + 1
        self.draw_rules.extend([LOGGED] * missing + [rule])
        self.draw_probabilities.extend([1.0] * missing + [candidate.draw_probability or unknown])

    def _settle_kind(self, candidate: Candidate) -> None:
        if candidate.tool is None and candidate.candidate_id is None:
            raise FieldError("tool", "missing; tool, candidate_id or candidates is needed")
        if candidate.tool is not None and candidate.candidate_id is not None:
            raise FieldError("candidate_id", "stands beside tool; a candidate is a tool or a graph")
        kind: Kind = "graph" if candidate.tool is None else "tool"
        if self.kind is None:
            self.kind = kind
        if self.kind != kind:
            field = "candidate_id" if candidate.tool is None else "tool"
            raise FieldError(
                field, f"found a {kind}; the candidates before it are {self.kind}s, and one kind is needed"
            )

    def _settle_width(self, features: list[float] | None) -> None:
        width = NO_FEATURES if features is None else len(features)
        if width == 0:
            raise FieldError("features", f"found []; {NEEDED['features']}")
        if self.width is None:
            self.width = width
        elif width != self.width:
            here, before = ("none" if n == NO_FEATURES else f"{n} numbers" for n in (width, self.width))
            raise FieldError("features", f"found {here}; the candidates before have {before}")
