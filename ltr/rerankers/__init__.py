"""Whatever can rank: a query and its documents in, a number for each document out."""
