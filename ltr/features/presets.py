"""What ships with the columns: which belong together, and weights that were learned from other sets of data."""

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final, Literal

import msgspec
import numpy as np

from ltr.arrays import FloatArray
from ltr.errors import count
from ltr.samples import Kind
from ltr.training import TrainConfig

RECOMMENDED = "recommended"  # what a config says instead of names
NEWCOMERS = ("tool.newcomer", "tool.newcomer_near")  # what is put beside trained columns
CORRECTIONS = "tool.corrections"  # what outcomes put beside the columns of a run


class Presets:
    """Names of columns that belong together, by the kind of candidates."""

    SPECIFICATION: Final = {
        "tool": ("tool.rel", "tool.hist", "tool.coop", "tool.struct"),
        "graph": ("graph.rel", "graph.hist", "graph.coop", "graph.struct"),
    }
    FEW: Final = 10  # training traces; measured in docs/notes/features.md
    FIRST: Final = {
        "tool": ("tool.proto", "tool.lift", "tool.clause_char", "tool.name", "tool.zero_shot"),
        "graph": ("graph.proto", "graph.near_edges", "graph.edges", "graph.cover"),
    }
    ALL: Final = {
        "tool": (
            *FIRST["tool"],
            *("tool.clause_words", "tool.words", "tool.known", "tool.talk", "tool.ridge", "tool.clause"),
        ),
        "graph": (*FIRST["graph"], "graph.start", "graph.size", "graph.clauses", "graph.order"),
    }
    SINGLES: Final = {  # good alone
        "tool": ("tool.zero_shot", "tool.proto", "tool.ridge"),
        "graph": ("graph.proto", "graph.near_edges"),
    }
    MORE: Final[dict[str, tuple[str, ...]]] = {  # beside ALL, where folds want them
        "tool": ("tool.query_proto", "tool.bm25", "tool.char"),
        "graph": (),
    }
    PAST: Final = ("tool.follows",)  # reads what was done before a query

    @classmethod
    def recommended(cls, kind: Kind, traces: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the recommended columns for a number of training traces, and the warnings about the choice.

        >>> Presets.recommended("tool", 7)[1]
        ('only 7 training traces: 5 of the 11 recommended features are used; all from 10 traces on',)
        >>> Presets.recommended("graph", 10)[1]
        ()
        """
        first, whole = cls.FIRST[kind], cls.ALL[kind]
        if traces >= cls.FEW:
            return whole, ()
        share = f"{len(first)} of the {len(whole)} recommended features are used"
        return first, (f"only {count(traces, 'training trace')}: {share}; all from {cls.FEW} traces on",)


# Of columns divided by their deviation, learned from 30 traces: means over draws, then over sets. `study priors`
# makes them from sample sets, never from the data of this project: its figures would else rest on what saw them
WEIGHTS = MappingProxyType(
    {
        "tool.proto": 0.27,
        "tool.lift": 0.26,
        "tool.clause_char": 0.06,
        "tool.name": 0.15,
        "tool.zero_shot": 0.39,
        "tool.clause_words": 0.12,
        "tool.words": 0.04,
        "tool.known": -0.01,
        "tool.talk": 0.10,
        "tool.ridge": 0.26,
        "tool.clause": 0.27,
        "graph.proto": 0.95,
        "graph.near_edges": -0.17,
        "graph.edges": 0.36,
        "graph.cover": 1.32,
        "graph.start": 0.44,
        "graph.size": 0.35,
        "graph.clauses": 0.41,
        "graph.order": 0.09,
    }
)


def prior_weights(names: Sequence[str]) -> FloatArray:
    """Return the weight of each column, in units of its deviation; 0 for a column that the table lacks.

    >>> prior_weights(["tool.proto", "mine"]).tolist() == [WEIGHTS["tool.proto"], 0.0]
    True
    """
    return np.array([WEIGHTS.get(name, 0.0) for name in names])


def prior_of(config: TrainConfig, names: Sequence[str]) -> FloatArray | None:
    """Return what the penalty pulls the weights of these columns towards; None: 0."""
    if config.prior == "zero":
        return None
    config.refuse_other_scale("prior")
    return prior_weights(names)


FORMAT: Final = "ltr-zero-shot/1"
FILE: Final = "zero_shot.json"
INSTEAD: Final = "minilm"  # of an encoder that has no weights: vectors of whole texts, as of most of them


class ZeroShotWeights(msgspec.Struct, frozen=True):
    """Of each encoder the weight of each column, and the digests of what taught them."""

    format: Literal["ltr-zero-shot/1"]
    encoders: dict[str, dict[str, float]]
    made_of: dict[str, str]

    @classmethod
    def shipped(cls) -> "ZeroShotWeights":
        """Return the weights that `scripts/study foreign --write` made."""
        return msgspec.json.decode(_shipped(), type=cls)

    @classmethod
    def of(cls, encoder: str) -> dict[str, float]:
        """Return the weight of each column with the encoder; one without weights of its own has those of `minilm`."""
        encoders = cls.shipped().encoders
        return encoders.get(encoder, encoders[INSTEAD])

    @classmethod
    def digest(cls) -> str:
        """Return the digest of the shipped weights: the revision of what ranks by them."""
        return f"sha256:{hashlib.sha256(_shipped()).hexdigest()}"


@cache
def _shipped() -> bytes:
    return files("ltr.features").joinpath(FILE).read_bytes()
