"""Texts become vectors: the encoders by name, behind one protocol, each distinct text encoded once."""
