"""Samples and rankings in other people's formats."""
