"""Catalogues give the texts of candidates once, instead of on every line."""
