"""Compiled passes over the groups, for work that repays loading numba (extra `fast`)."""
