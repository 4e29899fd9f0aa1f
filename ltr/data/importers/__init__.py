"""Files of other formats become samples."""
