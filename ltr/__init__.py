"""Learn which tool, or which team of agents, should answer a query; rank, measure and explain."""

__version__ = "0.1.0"
