"""The measures, each with its formula."""
