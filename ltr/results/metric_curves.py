"""The metrics that are no number: curves, each as named columns."""

from ltr.evaluation.metrics.registry import Curve, Drawn, named
from ltr.results.evaluated_ranking import Evaluated
from ltr.results.prompt_token_savings import PROMPT


def curves(evaluated: Evaluated) -> dict[str, Curve]:
    """The metrics that are no number, each as named columns; and the first choice's reliability in any case."""
    evaluation, drawn = evaluated.evaluation, named("reliability_first")
    prompt = {PROMPT: evaluated.prompt.curve()} if evaluated.prompt and evaluated.prompt.queries else {}
    if not isinstance(drawn, Drawn):
        return {**evaluation.curves, **prompt}
    curve = drawn.of(evaluated.candidates())
    return {**evaluation.curves, drawn.name: curve, **prompt} | _risk_coverage(evaluated)


def _risk_coverage(evaluated: Evaluated) -> dict[str, Curve]:
    """The risk over the coverage, of a model that abstains."""
    return {} if evaluated.risk_coverage is None else {"risk_coverage": evaluated.risk_coverage}
