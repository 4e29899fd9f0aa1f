"""Installed packages, which are not imported: whether they are there, where, and how to install one."""

import importlib.metadata
import importlib.util
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]


def install_line(extra: str, checkout: Path = CHECKOUT) -> str:
    """Return how to install an extra: by a command in a checkout; on a package index `ltr` is another project."""
    if (checkout / "pyproject.toml").is_file():
        return f'pip install -e "{checkout.as_posix()}[{extra}]"'
    return f"install ltr-router with its extra {extra}, from where it came"


def are_installed(*packages: str) -> bool:
    """Return whether all of the packages could be imported; none of them is."""
    return all(importlib.util.find_spec(package) is not None for package in packages)


def folder_of(package: str) -> Path | None:
    """Return where an installed package lies; None when it is not installed."""
    spec = importlib.util.find_spec(package)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return Path(folders[0]) if folders else None


def major_version(distribution: str) -> str:
    """Return name and first number of the installed version: another one may round differently.

    >>> major_version("numpy")[:6]
    'numpy '
    """
    return f"{distribution} {importlib.metadata.version(distribution).partition('.')[0]}"
