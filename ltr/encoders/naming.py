"""Encoders by name: the registered ones, any sentence-transformers model behind a prefix, and the best installed."""

from collections.abc import Callable

from ltr.encoders.hashing import HashEncoder
from ltr.encoders.protocol import EncoderKind
from ltr.encoders.sentences import PREFIX, Minilm, Named
from ltr.encoders.static import StaticEncoder
from ltr.registry import Registry

AUTO = "auto"
BEST_FIRST = ("minilm", "static", "hash")

ENCODERS: Registry[EncoderKind] = Registry("encoder")
ENCODERS.add("hash", HashEncoder)
ENCODERS.add("static", StaticEncoder)
ENCODERS.add("minilm", Minilm)
ENCODERS.add(Named().name, Named())


def encoder(name: str) -> Callable[[EncoderKind], EncoderKind]:
    """A decorator that registers what makes an encoder under the name."""
    return ENCODERS.register(name)


def encoder_kind(name: str) -> EncoderKind:
    """What makes the encoder of that name; an unknown name lists the known ones.

    >>> encoder_kind("hash").name, encoder_kind("sentence-transformers:models/own").name
    ('hash', 'sentence-transformers:models/own')
    """
    if name.startswith(PREFIX) and name != PREFIX:
        return Named(name)
    return ENCODERS[name]


def best_installed() -> str:
    """What `auto` means on this machine: minilm, static or hash, whichever comes first and is installed."""
    return next(name for name in BEST_FIRST if ENCODERS[name].is_installed())


def fetch(name: str) -> None:
    """Make sure that the encoder's model is on this machine, by downloading it if need be. Nothing else reaches out."""
    kind = encoder_kind(name)
    if isinstance(kind, Named):
        kind.fetch()
