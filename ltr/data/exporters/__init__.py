"""Samples and rankings in other people's formats."""

from ltr.data.exporters import csv, letor, trec  # noqa: F401  # they register
from ltr.data.exporters.registry import EXPORTERS, Exported, exporter

__all__ = ["EXPORTERS", "Exported", "exporter"]
