"""Samples and rankings in other people's formats."""

from ltr.exporters import csv, letor, trec  # noqa: F401  # they register
from ltr.exporters.registry import EXPORTERS, Exported, exporter

__all__ = ["EXPORTERS", "Exported", "exporter"]
