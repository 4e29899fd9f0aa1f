"""What data and numbers say together: a router, or scores, measured on groups, query by query and tool by tool."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ltr.results.baselines import Marks as Marks
    from ltr.results.baselines import untrained as untrained
    from ltr.results.bm25 import Bm25 as Bm25
    from ltr.results.evaluated import CrossValidation as CrossValidation
    from ltr.results.evaluated import Evaluated as Evaluated
    from ltr.results.queries import Explanation as Explanation
    from ltr.results.queries import examples as examples
    from ltr.results.queries import hash_texts as hash_texts
    from ltr.results.queries import query_records as query_records
    from ltr.results.queries import rescued as rescued
    from ltr.results.queries import wrong as wrong
    from ltr.results.router import Wanted as Wanted
    from ltr.results.router import evaluate_router as evaluate_router
    from ltr.results.router import measure_and_keep as measure_and_keep
    from ltr.results.scores import evaluate_groups as evaluate_groups
    from ltr.results.scores import evaluate_run as evaluate_run
    from ltr.results.scores import rules_up_to as rules_up_to
    from ltr.results.tools import PromptSums as PromptSums
else:
    from ltr.lazy import attach

    __getattr__, __dir__, __all__ = attach(__name__)
