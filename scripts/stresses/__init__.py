"""The parts of scripts/stress."""
