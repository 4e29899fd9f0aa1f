"""Candidates of a catalogue that are added to groups: a row for each, after those of the log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.data.candidates import tool_candidates
from ltr.data.draw_rules_and_probabilities import LOGGED
from ltr.data.groups import Groups, stack, take
from ltr.data.tool_texts import ToolText


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

    >>> from ltr.data.candidates import tool_candidates
    >>> one = tool_candidates("weather?", {"get_weather": ToolText()})
    >>> drawn = Additions(np.array([0]), ["send_mail"], np.array([2]), np.array([1.0]), np.array([1.0]))
    >>> both = with_additions(Groups(one, np.array([1.0]), one.offsets), drawn, {"send_mail": ToolText("a mail")})
    >>> both.candidates.name_texts, both.labels, both.candidates.is_logged
    (('get_weather', 'send_mail'), array([1., 0.]), array([ True, False]))
    """
    offered = {name: tools[name] for name in added.names}
    codes = dict(zip(offered, range(len(offered)), strict=True))
    names = np.array([codes[name] for name in added.names], dtype=np.int64)
    offsets = np.array([0, len(names)])
    drawn = replace(tool_candidates("", offered), offsets=offsets, names=names, texts=names, lines=names)
    drawn = replace(drawn, draw_rules=added.rules, draw_probabilities=added.probabilities)
    candidates = groups.candidates
    rules = np.full(len(groups.labels), LOGGED) if candidates.draw_rules is None else candidates.draw_rules
    before = replace(candidates, draw_rules=rules, draw_probabilities=added.of_rows)
    both = stack([replace(groups, candidates=before), Groups(drawn, np.zeros(len(names)), offsets)])
    lines = np.concatenate([candidates.lines, candidates.lines[groups.offsets[:-1]][added.groups]])
    both = replace(both, candidates=replace(both.candidates, lines=lines))
    every, sizes = np.arange(len(groups.offsets) - 1), np.diff(groups.offsets)
    rows = np.argsort(np.concatenate([np.repeat(every, sizes), added.groups]), kind="stable")
    extended = take(both, every, rows, sizes + np.bincount(added.groups, minlength=len(every)))
    return replace(extended, none_groups=groups.none_groups)
