"""Whatever can rank: a query and its documents in, a number for each document out; and the bench that compares them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ltr.rerankers.bench import Allowed as Allowed
    from ltr.rerankers.bench import Event as Event
    from ltr.rerankers.bench import forecast_bench as forecast_bench
    from ltr.rerankers.bench import run_bench as run_bench
    from ltr.rerankers.config import bench_schema as bench_schema
    from ltr.rerankers.config import load_bench as load_bench
    from ltr.rerankers.protocol import RERANKERS as RERANKERS
    from ltr.rerankers.protocol import RerankerChoice as RerankerChoice
    from ltr.rerankers.protocol import Setting as Setting
    from ltr.rerankers.protocol import collection as collection
    from ltr.rerankers.protocol import queries_with_documents as queries_with_documents
    from ltr.rerankers.protocol import reranker as reranker
else:
    from ltr.lazy import attach

    __getattr__, __dir__, __all__ = attach(__name__)
