"""The parts of scripts/study."""
