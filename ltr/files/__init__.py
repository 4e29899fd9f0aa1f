"""The only place that opens files: lines in, whole files out, names that are safe to become paths."""
