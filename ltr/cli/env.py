"""ltr env: what a bug report needs."""

from collections.abc import Mapping

from ltr.cli.options import Shown
from ltr.cli.output import listing, show


def env(shown: Shown = None) -> None:
    """Show versions and hardware, for a bug report."""
    from ltr.storage.run_provenance import machine

    facts = machine()
    show(shown, facts, _texts(facts), lambda: listing(["", ""], _texts(facts)))


def _texts(facts: Mapping[str, object]) -> list[tuple[str, str]]:
    return [(name, " ".join(value) if isinstance(value, list) else str(value)) for name, value in facts.items()]
