"""What data and numbers say together: an evaluated ranking, query by query."""
