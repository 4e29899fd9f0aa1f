"""Reading and writing of what belongs to users: lines in, whole files out, names that are safe to become paths."""
