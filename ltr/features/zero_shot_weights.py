"""What words, letters and meaning weigh where nothing was learned: weights from public catalogues, which ship."""

import hashlib
from functools import cache
from importlib.resources import files
from typing import Final, Literal

import msgspec

FORMAT: Final = "ltr-zero-shot/1"
FILE: Final = "zero_shot.json"
INSTEAD: Final = "minilm"  # of an encoder that has no weights: vectors of whole texts, as of most of them


class ZeroShotWeights(msgspec.Struct, frozen=True):
    """Of each encoder the weight of each column, and the digests of what taught them."""

    format: Literal["ltr-zero-shot/1"]
    encoders: dict[str, dict[str, float]]
    made_of: dict[str, str]


@cache
def shipped_weights() -> ZeroShotWeights:
    """Return the weights that `scripts/study foreign --write` made."""
    return msgspec.json.decode(_content(), type=ZeroShotWeights)


def weights_of(encoder: str) -> dict[str, float]:
    """Return the weight of each column with the encoder; one without weights of its own has those of `minilm`."""
    encoders = shipped_weights().encoders
    return encoders.get(encoder, encoders[INSTEAD])


def weights_digest() -> str:
    """Return the digest of the shipped weights: the revision of what ranks by them."""
    return f"sha256:{hashlib.sha256(_content()).hexdigest()}"


def _content() -> bytes:
    return files("ltr.features").joinpath(FILE).read_bytes()
