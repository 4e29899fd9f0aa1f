"""Where the project's own data sets come from: hand-written YAML, and the few rules that make samples of it."""
