"""Results as pages, tables and cards."""
