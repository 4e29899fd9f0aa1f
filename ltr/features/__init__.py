"""Samples become the columns of phi: registered features of four families, cross-fitted where they learn."""
