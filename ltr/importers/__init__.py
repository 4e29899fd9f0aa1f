"""Other formats become samples."""
