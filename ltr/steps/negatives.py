"""Drawn negatives: tools of the catalogue as candidates where the log has none or few."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray
from ltr.catalogues import ToolCatalogue, ToolText, read_tools
from ltr.config import RunConfig
from ltr.encoders import AUTO, best_installed
from ltr.errors import UsageError, count
from ltr.features import NearestTools
from ltr.hashes import hashed, mixed
from ltr.samples import LOGGED, NEAR, RANDOM, RIGHT, Candidates, Groups

WHOLE: Final = "catalogue"
MOST_WHOLE = 200  # tools up to which `catalogue` means every tool
DRAWN = 30  # tools that it draws for a query beyond


def draw_negatives(groups: Groups, tools: ToolCatalogue, asked: str | int, *, encoder: str, seed: int) -> Groups:
    """The groups with tools of the catalogue as wrong candidates: all of them, or so many, half near, half random.

    The near ones follow from the query alone, the random ones from a hash of the query, its key and the tool's name:
    neither looks at the labels, and no order of groups or tools moves them. Not added are tools that the group has,
    and tools whose text is that of a right one. Where the log names right tools alone, one that is not near takes the
    place of a random one, so that the length of a list tells nothing. A query for which none is right gets nothing.
    """
    refuse_undrawable(groups)
    if not len(groups.labels):
        return groups
    names = tuple(sorted(tools))
    number = (len(names) if len(names) <= MOST_WHOLE else DRAWN) if asked == WHOLE else int(asked)
    near = 0 if number >= len(names) else number // 2
    rule = _Rule(groups, tools, names, number - near, seed)
    candidates = groups.candidates
    nearest = NearestTools.of(tools, encoder).ordered(candidates.query_texts, near) if near else ()
    near_codes = list(nearest) or [np.empty(0, dtype=np.int64)] * len(candidates.query_texts)
    of_rows = np.ones(len(groups.labels)) if candidates.draws is None else candidates.draws.probabilities.copy()
    parts = []
    for group, query in enumerate(candidates.queries.tolist()):
        is_none = groups.none is not None and groups.none[group] == RIGHT  # the right one may be in the catalogue
        drawn = rule.nothing(group) if is_none else rule.draw(group, near_codes[query])
        of_rows[groups.offsets[group] : groups.offsets[group + 1]] *= drawn.of_rows
        parts.append(drawn)
    codes = np.concatenate([part.codes for part in parts])
    added = Additions(
        np.repeat(np.arange(len(parts)), [len(part.codes) for part in parts]),
        [names[code] for code in codes.tolist()],
        np.concatenate([part.rules for part in parts]),
        np.concatenate([part.probabilities for part in parts]),
        of_rows,
    )
    return with_additions(groups, added, tools)


def refuse_undrawable(groups: Groups) -> None:
    """Raise for candidates that cannot be drawn from a catalogue of tools."""
    if groups.candidates.kind != "tool":
        raise UsageError("negatives are drawn from a catalogue of tools; the candidates are graphs")
    if groups.candidates.features is not None:
        raise UsageError("negatives need texts, and the samples bear ready features; draw them when you featurize")


@dataclass(frozen=True, slots=True)
class _Drawn:
    """What one group gets, tools by name, and the probabilities of the rows it has."""

    codes: IntArray
    rules: IntArray
    probabilities: FloatArray
    of_rows: FloatArray


class _Rule:
    """The rule by which each group gets its tools."""

    def __init__(self, groups: Groups, tools: ToolCatalogue, names: tuple[str, ...], places: int, seed: int) -> None:
        self.groups, self.places = groups, places  # of random tools
        candidates = groups.candidates
        known = {name: code for code, name in enumerate(names)}
        self.code_of = np.array([known.get(name, -1) for name in candidates.name_texts], dtype=np.int64)
        texts = {text: code for code, text in enumerate(sorted(set(tools.values())))}
        self.text_of = np.array([texts[tools[name]] if any(tools[name]) else -1 for name in names])
        own = np.array([texts.get(text, -1) if any(text) else -1 for text in candidates.tool_texts], dtype=np.int64)
        self.row_text = own[candidates.texts]
        self.tool_hash = hashed(names)
        keys = zip(candidates.traces.tolist(), candidates.node_ids, candidates.queries.tolist(), strict=True)
        self.group_hash = hashed(
            "\0".join((str(seed), candidates.trace_ids[trace], node, candidates.query_texts[query]))
            for trace, node, query in keys
        )

    def draw(self, group: int, near: IntArray) -> _Drawn:
        """The near tools with probability 1, and tools at random with random places / tools that are not near."""
        groups = self.groups
        rows = slice(groups.offsets[group], groups.offsets[group + 1])
        codes, is_right = self.code_of[groups.candidates.names[rows]], groups.labels[rows] > 0
        can_be_drawn = np.ones(len(self.tool_hash), dtype=bool)
        alike = self.row_text[rows][is_right]
        can_be_drawn[np.isin(self.text_of, alike[alike >= 0])] = False
        in_group = codes[codes >= 0]
        can_be_drawn[in_group] = True
        is_near = np.zeros(len(can_be_drawn), dtype=bool)
        is_near[near] = can_be_drawn[near]
        has_right_alone = bool(is_right.all())
        if not has_right_alone:
            is_near[in_group] = True  # the log offered them, whatever was right
        outside = is_right & ~np.where(codes >= 0, is_near[codes], False) if has_right_alone else is_right & False
        reach = int((can_be_drawn & ~is_near).sum()) + int((outside & (codes < 0)).sum())
        places = min(max(self.places, int(outside.sum())), reach)
        probability = places / reach if reach else 1.0
        free = can_be_drawn & ~is_near
        is_near[in_group] = False
        free[in_group] = False
        random = self._lowest(group, free, places - int(outside.sum()))
        drawn = np.sort(np.concatenate([np.flatnonzero(is_near), random]))
        is_random = np.isin(drawn, random)
        return _Drawn(
            drawn,
            np.where(is_random, RANDOM, NEAR),
            np.where(is_random, probability, 1.0),
            np.where(outside, probability, 1.0),
        )

    def nothing(self, group: int) -> _Drawn:
        """No tool for the group, whose rows are those of the log."""
        none, size = np.empty(0, dtype=np.int64), int(np.diff(self.groups.offsets)[group])
        return _Drawn(none, none, np.empty(0), np.ones(size))

    def _lowest(self, group: int, free: BoolArray, count: int) -> IntArray:
        """So many of the free tools: those whose hash with the group is lowest."""
        codes = np.flatnonzero(free)
        hashes = mixed(mixed(self.group_hash[group : group + 1]) ^ self.tool_hash[codes])
        return codes[np.argsort(hashes, kind="stable")[:count]]


def drawn(groups: Groups, config: RunConfig) -> Groups:
    """The groups with the tools that data.negatives adds to their candidates."""
    data = config.data
    if data.negatives is None:
        return groups
    if data.tools is None:
        raise UsageError("negatives are drawn from a catalogue: name one with --tools (data.tools)")
    encoder = best_installed() if config.encoder == AUTO else config.encoder
    return draw_negatives(groups, read_tools(data.tools), data.negatives, encoder=encoder, seed=config.seed)


def count_uncorrected(groups: Groups) -> int:
    """How many groups have drawn rows that get no offset, because the log offers several candidates."""
    draws = groups.candidates.draws
    if draws is None:
        return 0
    offered = np.add.reduceat(draws.are_logged.astype(np.int64), groups.offsets[:-1])
    has_drawn = offered < np.diff(groups.offsets)
    return int((has_drawn & (offered > 1) & ~draws.names_right_alone(groups.labels, groups.offsets)).sum())


def uncorrected_warnings(number: int, of: int) -> Iterator[str]:
    """That so many of the groups have drawn candidates without an offset, and why.

    >>> list(uncorrected_warnings(0, 9))
    []
    """
    if number:
        yield (
            f"negatives: the log offers several candidates in {number:,} of {count(of, 'query', 'queries')}; what is "
            "drawn beside them could not have been chosen there, and gets no offset"
        )


@dataclass(frozen=True, slots=True)
class Additions:
    """Tools that were drawn: group, tool, rule and probability of each; and the probability of every row there is."""

    groups: IntArray  # (additions,)
    names: Sequence[str]
    rules: IntArray
    probabilities: FloatArray
    of_rows: FloatArray  # (rows of the groups,)


def with_additions(groups: Groups, added: Additions, tools: Mapping[str, ToolText]) -> Groups:
    """Return the groups with the tools drawn for them, wrong candidates each on the line that its group begins with.

    >>> one = Candidates.of_tools("weather?", {"get_weather": ToolText()})
    >>> drawn = Additions(np.array([0]), ["send_mail"], np.array([2]), np.array([1.0]), np.array([1.0]))
    >>> both = with_additions(Groups(one, np.array([1.0]), one.offsets), drawn, {"send_mail": ToolText("a mail")})
    >>> both.candidates.name_texts, both.labels, both.candidates.is_logged
    (('get_weather', 'send_mail'), array([1., 0.]), array([ True, False]))
    """
    offered = {name: tools[name] for name in added.names}
    codes = dict(zip(offered, range(len(offered)), strict=True))
    names = np.array([codes[name] for name in added.names], dtype=np.int64)
    offsets = np.array([0, len(names)])
    drawn = replace(Candidates.of_tools("", offered), offsets=offsets, names=names, texts=names, lines=names)
    drawn = replace(drawn, draw_rules=added.rules, draw_probabilities=added.probabilities)
    candidates = groups.candidates
    rules = np.full(len(groups.labels), LOGGED) if candidates.draw_rules is None else candidates.draw_rules
    before = replace(candidates, draw_rules=rules, draw_probabilities=added.of_rows)
    both = Groups.stack([replace(groups, candidates=before), Groups(drawn, np.zeros(len(names)), offsets)])
    lines = np.concatenate([candidates.lines, candidates.lines[groups.offsets[:-1]][added.groups]])
    both = replace(both, candidates=replace(both.candidates, lines=lines))
    every, sizes = np.arange(len(groups.offsets) - 1), np.diff(groups.offsets)
    rows = np.argsort(np.concatenate([np.repeat(every, sizes), added.groups]), kind="stable")
    extended = both.take(every, rows, sizes + np.bincount(added.groups, minlength=len(every)))
    return replace(extended, none_groups=groups.none_groups)
