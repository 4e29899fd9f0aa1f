"""What an encoder is, and the encoders by name: registered ones, and sentence-transformers models."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

from ltr.arrays import State
from ltr.encoders.vectors import Vectors
from ltr.errors import UsageError
from ltr.extras import install_line
from ltr.registry import Registry

Role = Literal["query", "document"]  # what asks, and what is looked through: some models read them differently
AUTO = "auto"
PREFIX = "sentence-transformers:"  # of the name of any such model
BEST_FIRST = ("minilm", "static", "hash")
INSTEAD = {  # of the package of an encoder: its extra, other encoders
    "static": ("static", "--encoder hash (nothing to install, lower quality)"),
    "minilm": ("embed", "--encoder static (extra static) · --encoder hash (lower quality)"),
}


class Encoder(Protocol):
    """Texts in, unit vectors out; a text that says nothing gives a zero vector.

    A text has the same row, bit for bit, whatever texts stand beside it. Construction is quick: what takes long to
    load is loaded when a text is to be encoded.
    """

    @property
    def name(self) -> str:
        """What a config calls it."""
        ...

    @property
    def state(self) -> State:
        """What it learned from the training texts; empty for most."""
        ...

    @property
    def revision(self) -> str:
        """Another text whenever the vectors may be others."""
        ...

    def identity(self, role: Role) -> tuple[str, ...] | None:
        """All that decides a vector besides the text: the key of dense vectors on disk. None: they are not stored."""
        ...

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """One row a text, of length 1 or zero."""
        ...


class EncoderKind(Protocol):
    """What is registered under a name: a class with these class methods, or an object that makes encoders."""

    @property
    def name(self) -> str:
        """What a config calls it."""
        ...

    def is_installed(self) -> bool:
        """Whether all it needs is on this machine; nothing is loaded to learn it."""
        ...

    def fitted(self, texts: Sequence[str]) -> Encoder:
        """An encoder that has seen the training texts, if it learns from them."""
        ...

    def restored(self, state: State) -> Encoder:
        """The encoder of a saved state, which gives the same vectors."""
        ...


@runtime_checkable
class CountingKind(Protocol):
    """What an encoder that learns from texts also has, to learn from more of them than memory holds."""

    def count_texts(self, texts: Sequence[str]) -> Any:
        """What it counts in some texts: small, and plain arrays."""
        ...

    def fitted_to(self, parts: Iterable[Any]) -> Encoder:
        """The encoder that has seen the texts of all parts; a text that several parts have counts once."""
        ...


class Encoders(Registry[EncoderKind]):
    """What makes encoders, by name; a name with the prefix is that of a model on the hub, or of its folder.

    >>> ENCODERS["hash"].name, ENCODERS["sentence-transformers:models/own"].name
    ('hash', 'sentence-transformers:models/own')
    """

    def __getitem__(self, name: str) -> EncoderKind:
        if isinstance(name, str) and name.startswith(PREFIX) and name != PREFIX:
            from ltr.encoders.transformers import Named

            return Named(name)
        return super().__getitem__(name)


ENCODERS = Encoders(
    "encoder",
    {
        "ltr.encoders.hash": ("hash",),
        "ltr.encoders.static": ("static",),
        "ltr.encoders.transformers": ("minilm", f"{PREFIX}NAME_OR_PATH"),
    },
)


def encoder(name: str) -> Callable[[EncoderKind], EncoderKind]:
    """Return a decorator that registers what makes an encoder under the name."""
    return ENCODERS.register(name)


def encoder_named(entry: str | Mapping[str, object]) -> str:
    """Return the name of the encoder that a config asks for: NAME, or {name: NAME, option: value}.

    Options become part of the name, because a name alone says which vectors a text has.

    >>> encoder_named({"name": "hash"}), encoder_named({"name": "sentence-transformers", "model": "models/own"})
    ('hash', 'sentence-transformers:models/own')
    """
    if isinstance(entry, str):
        return entry
    options = dict(entry)
    name, model = options.pop("name", None), None
    if not isinstance(name, str):
        raise UsageError("an encoder is a name, or a mapping with the key name")
    if f"{name}:" == PREFIX:
        model = options.pop("model", None)
        if not isinstance(model, str) or not model.strip():
            raise UsageError(f"{name} needs the option model: the name or the folder of one, as text")
    if options:
        raise UsageError(f"{name} has no option {str(next(iter(options)))!r}")
    return name if model is None else f"{PREFIX}{model}"


def best_installed() -> str:
    """Return what `auto` means on this machine: the first of minilm, static and hash that is installed."""
    return next(name for name in BEST_FIRST if ENCODERS[name].is_installed())


def fetch(name: str) -> None:
    """Make sure that the encoder's model is on this machine, by downloading it if need be. Nothing else reaches out."""
    kind: Any = ENCODERS[name]
    if name.startswith(PREFIX):
        kind.fetch()


def ways_out(encoder: str) -> str:
    """Return what to do where the package of an encoder is not installed."""
    extra, other = INSTEAD[encoder]
    return f"{install_line(extra)} · {other}"
