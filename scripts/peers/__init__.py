"""Other packages that do what ltr does, behind one face each; what is not installed is left out, and reported."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any


@dataclass(frozen=True)
class Peer:
    """One way of another package."""

    name: str
    package: str  # what must be installed
    call: Callable[..., Any]


def installed(peers):
    """Those that can run here."""
    return [peer for peer in peers if find_spec(peer.package)]


def missing(peers):
    """Packages of those that cannot."""
    return [package for package in dict.fromkeys(peer.package for peer in peers) if find_spec(package) is None]
