"""The config of a command, made of its defaults, its file, --set and its flags."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ltr.cli.options import FlagValue

if TYPE_CHECKING:
    from ltr.config.run import RunConfig
    from ltr.config.sweeps import Point
    from ltr.configtext.parsed_document import Document

NOTHING: Mapping[str, Any] = {}


def configured(
    config: str | None, sets: list[str] | None, flags: Sequence[FlagValue], own: Mapping[str, Any] = NOTHING
) -> "RunConfig":
    """The config: defaults < file < --set < flags.

    `own`: defaults of the command, by key, in the place of those of the config.
    """
    from ltr.config.run import checked

    document = written(config, sets, flags)
    for path, value in own.items():
        section, _, key = path.partition(".")
        keys = document.value.get(section, {})
        if isinstance(keys, dict) and key not in keys:
            document = document.replace(path, value, "default")
    return checked(document, config)


def configured_points(config: str, sets: list[str] | None, flags: Sequence[FlagValue]) -> "tuple[Point, ...]":
    """The same for a config that may have a sweep: each of its runs."""
    from ltr.config.sweeps import expanded

    return expanded(written(config, sets, flags), config)


def written(config: str | None, sets: list[str] | None, flags: Sequence[FlagValue]) -> "Document":
    """The config with its changes, before it is checked."""
    from ltr.configtext.config_file import read_document

    document = read_document(config, sets or ())
    for flag, key, value in flags:
        document = document.replace(key, value, flag)
    return document
