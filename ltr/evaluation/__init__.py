"""How good a ranking is: ranking, ties, metrics, bootstrap, significance, baselines."""
