"""ltr env: what a bug report needs."""

from collections.abc import Mapping

from ltr.cli.options import Shown
from ltr.cli.output import Format, chosen_format, listing, say, show_json, show_tsv


def env(shown: Shown = None) -> None:
    """Show versions and hardware, for a bug report."""
    from ltr.storage.run_provenance import machine

    facts = machine()
    match chosen_format(shown):
        case Format.JSON:
            show_json(facts)
        case Format.TSV:
            show_tsv(_texts(facts))
        case Format.HUMAN:
            say(*listing(["", ""], _texts(facts)))


def _texts(facts: Mapping[str, object]) -> list[tuple[str, str]]:
    return [(name, " ".join(value) if isinstance(value, list) else str(value)) for name, value in facts.items()]
