"""Rerankers side by side: quality, latency, cost."""
