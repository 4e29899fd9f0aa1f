"""Ideas that a model may do without: each is a step in a file of its own, and the router loops over the list of them.

To take a step out, delete its file, its two lines here, and the line that learns it in `flow.py`; that of none of these
in `experiments/refit.py`, too.
"""

from ltr.runs import StoredModel
from ltr.steps.abstain import Abstain
from ltr.steps.foreign import Foreign
from ltr.steps.none import NoneOfThese
from ltr.steps.step import Instead, Ranked, Step, Told

__all__ = ["Instead", "Ranked", "Step", "Told", "steps_of"]

STEPS: tuple[type[Step], ...] = (
    Foreign,
    NoneOfThese,
    Abstain,  # after what takes a share of the probability: it asks how probable the first choice is
)


def steps_of(model: StoredModel) -> tuple[Step, ...]:
    """Return the steps that the model learned or needs, in the order in which they apply."""
    return tuple(step for kind in STEPS if (step := kind.of(model)) is not None)
