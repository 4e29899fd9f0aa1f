"""Learning w: the objective, curves, trainers, and what can be proved and said of a fitted w."""
