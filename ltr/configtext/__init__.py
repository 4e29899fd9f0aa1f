"""Config files as text: strict YAML with places, into frozen dataclasses and back."""
