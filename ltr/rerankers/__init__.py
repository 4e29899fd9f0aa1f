"""Whatever can rank: a query and its documents in, a number for each document out."""

from ltr.rerankers import command, encoded, lexical, pairs, references, trained
from ltr.rerankers.documents import Documents, Offer, collection, offers, truth
from ltr.rerankers.registry import RERANKERS, Choice, Recipe, Reranker, Setting, reranker, scores, spelled

__all__ = [
    "RERANKERS",
    "Choice",
    "Documents",
    "Offer",
    "Recipe",
    "Reranker",
    "Setting",
    "collection",
    "command",
    "encoded",
    "lexical",
    "offers",
    "pairs",
    "references",
    "reranker",
    "scores",
    "spelled",
    "trained",
    "truth",
]
