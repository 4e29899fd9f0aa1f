"""Samples become the columns of phi: four questions, each asked by one or more registered features."""
