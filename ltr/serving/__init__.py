"""A trained run put to work: queries in, ranked candidates out."""
