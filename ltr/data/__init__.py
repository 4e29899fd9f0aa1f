"""Samples, groups, graphs, catalogues, splits; other formats in and out."""
