"""A trained run put to work: queries in, ranked candidates out."""

from typing import Final

DEFAULT_K: Final = 5  # choices of an answer; here, where it costs no command line an import
