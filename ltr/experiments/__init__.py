"""Configs in, run directories out."""
