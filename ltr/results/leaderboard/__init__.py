"""The runs of a batch beside each other: the best first, how sure its lead is, and what failed."""
