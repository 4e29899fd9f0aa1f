"""A trained model: one weight vector, and the terms that it weighs."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ltr.arrays import LARGEST, FloatArray, as_floats
from ltr.errors import ArrayError
from ltr.training.fit_result import Training
from ltr.training.nonlinear_terms import NO_TERMS, Terms


@dataclass(frozen=True, slots=True)
class Model:
    """A ranker linear in w: score = phi . w, where phi has a column for each term after its own."""

    w: FloatArray
    training: Training = field(repr=False)
    terms: Terms = field(default=NO_TERMS, repr=False)

    def scores(self, phi: npt.ArrayLike) -> FloatArray:
        """Score of each row of phi."""
        rows = as_floats("phi", phi)
        features = len(self.w) - len(self.terms)
        if rows.ndim != 2 or rows.shape[1] != features:
            raise ArrayError("phi", "", f"{features} features are needed, found shape {rows.shape}")
        with np.errstate(over="ignore", invalid="ignore"):
            result = self.terms.scores(rows, self.w)
        bad = np.flatnonzero(~((np.abs(rows) <= LARGEST).all(axis=1) & (np.abs(result) <= LARGEST)))
        if bad.size:
            row = int(bad[0])
            problem = (
                f"{rows[row].tolist()} scores {result[row]}; both must be finite, from {-LARGEST:g} to {LARGEST:g}"
            )
            raise ArrayError("phi", f"[{row}]", problem)
        return result
