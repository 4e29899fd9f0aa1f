"""Candidates of a catalogue that are added to groups: a row for each, after those of the log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ltr.arrays import FloatArray, IntArray, offsets_of
from ltr.data.draw_rules_and_probabilities import LOGGED, Draws
from ltr.data.groups import Groups, select
from ltr.data.integer_codes import Codes
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
    """The groups with the tools that were drawn for them, as wrong candidates, each on the line its group begins with.

    >>> from ltr.data.catalogue_as_candidates import tool_candidates
    >>> one = tool_candidates("weather?", {"get_weather": ToolText()})
    >>> drawn = Additions(np.array([0]), ["send_mail"], np.array([2]), np.array([1.0]), np.array([1.0]))
    >>> both = with_additions(Groups(one, np.array([1.0]), one.offsets), drawn, {"send_mail": ToolText("a mail")})
    >>> both.candidates.name_texts, both.labels, both.candidates.is_logged
    (('get_weather', 'send_mail'), array([1., 0.]), array([ True, False]))
    """
    candidates, rows = groups.candidates, len(groups.labels)
    sizes = np.diff(groups.offsets) + np.bincount(added.groups, minlength=len(groups.offsets) - 1)
    owners = np.concatenate([np.repeat(np.arange(len(sizes)), np.diff(groups.offsets)), added.groups])
    order = np.argsort(owners, kind="stable")
    names, texts = Codes(), Codes()
    for name in candidates.name_texts:
        names[name]
    for text in candidates.tool_texts:
        texts[text]
    name_codes = np.array([names[name] for name in added.names], dtype=np.int64)
    text_codes = np.array([texts[tools[name]] for name in added.names], dtype=np.int64)
    before = np.full(rows, LOGGED) if candidates.draws is None else candidates.draws.rules
    labels = np.concatenate([groups.labels, np.zeros(len(added.groups))])[order]
    lines = candidates.lines[groups.offsets[:-1]][added.groups]
    offsets = offsets_of(sizes)
    extended = replace(
        candidates,
        offsets=offsets,
        names=np.concatenate([candidates.names, name_codes])[order],
        name_texts=tuple(names),
        texts=np.concatenate([candidates.texts, text_codes])[order],
        tool_texts=tuple(texts),
        lines=np.concatenate([candidates.lines, lines])[order],
        draws=Draws(
            np.concatenate([before, added.rules])[order],
            np.concatenate([added.of_rows, added.probabilities])[order],
        ),
    )
    joined = replace(groups, candidates=extended, labels=labels, offsets=offsets)
    return replace(select(joined, np.arange(len(sizes))), none_groups=groups.none_groups)
