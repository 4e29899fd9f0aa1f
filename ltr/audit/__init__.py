"""What can be wrong with samples, and with a run directory."""
