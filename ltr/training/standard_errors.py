"""How sure each weight is: standard errors at the optimum of the unpenalised likelihood, or why there are none."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray, IntArray
from ltr.errors import UsageError
from ltr.training.identifiability import Geometry
from ltr.training.model import Fitted, Optimum, direction_text
from ltr.training.objective import Trainable, cluster_slopes, derivatives

NORMAL_95 = 1.959963984540054  # half of the 95 % interval, in standard errors
ALIKE = 0.8  # effective clusters over clusters, from which their sizes need no word
ROUNDING = 1e-9  # of a candidate's probability: a fit this near leaves nothing that errors could be told by


@dataclass(frozen=True, slots=True)
class Errors:
    """Standard errors at the optimum of the unpenalised likelihood, conditional on phi; raw scale."""

    form: str  # hessian: its inverse; by_trace or by_group: the sandwich, clustered
    clusters: int
    effective_clusters: float  # (sum of their weights)^2 / sum of the squares: one large trace counts for little more
    w: FloatArray  # (features,): the unpenalised optimum
    standard: FloatArray  # (features,); NaN where the column's weight is not identified

    @property
    def z(self) -> FloatArray:
        """w over its standard error."""
        return self.w / self.standard

    @property
    def interval(self) -> tuple[FloatArray, FloatArray]:
        """The 95 % interval of each weight."""
        return self.w - NORMAL_95 * self.standard, self.w + NORMAL_95 * self.standard

    def over(self, units: FloatArray) -> "Errors":
        """The same of columns that were divided by the units."""
        return replace(self, w=self.w / units, standard=self.standard / units)


def effective_text(clusters: int, effective: float) -> str:
    """As how many the clusters count, where their sizes differ so much that it needs a word.

    >>> effective_text(101, 2.24), effective_text(229, 210.0)
    ('2', '')
    """
    return f"{effective:,.0f}" if effective < ALIKE * clusters else ""


def standard_errors(
    groups: Trainable, geometry: Geometry, best: FloatArray, clusters: npt.ArrayLike | None
) -> tuple[Errors | None, str]:
    """Standard errors at the unpenalised optimum, in the scale of the groups; or None, and why.

    With H the Hessian of the mean loss at its own optimum and s_c the part of cluster c in the gradient:
    H^-1 / groups, or H^-1 (sum_c s_c s_c') H^-1 * C / (C - 1) where groups depend on each other, differ in weight, or
    share their target among several positives, which is no draw of one from the softmax.
    """
    if not geometry.spectrum.identified.shape[1]:
        return None, "no feature differs between the candidates of a query"
    inverse, form, codes = _inverse(groups, geometry, best), *_form(groups, clusters)
    covariance, count = inverse / len(groups), len(groups)
    if form != "hessian":
        slopes = cluster_slopes(groups, best, geometry.scale, codes)
        count = len(slopes)
        reason = _too_little(slopes, form, geometry.spectrum.identified.shape[1])
        if reason:
            return None, reason
        covariance = inverse @ (slopes.T @ slopes) @ inverse * (count / (count - 1))
    standard = np.sqrt(np.maximum(np.diag(covariance), 0.0)) / geometry.scale
    standard = np.where(geometry.is_open | (standard == 0), np.nan, standard)
    masses = np.bincount(codes, weights=groups.weights)
    return Errors(form, count, 1.0 / float(masses @ masses), best, standard), ""


def _inverse(groups: Trainable, geometry: Geometry, best: FloatArray) -> FloatArray:
    """H^-1 on the directions that are identified."""
    basis = geometry.spectrum.identified
    hessian = basis.T @ derivatives(groups, best, geometry.scale).hessian @ basis
    inverse: FloatArray = basis @ np.linalg.pinv(hessian, hermitian=True) @ basis.T
    return inverse


def _form(groups: Trainable, clusters: npt.ArrayLike | None) -> tuple[str, IntArray]:
    """Which errors hold, and the cluster of each group that trains, counted from 0."""
    alone = np.arange(len(groups))
    if clusters is not None:
        given = np.asarray(clusters)
        if given.shape != groups.trains.shape:
            raise UsageError(f"clusters: one a group is needed {groups.trains.shape}, found shape {given.shape}")
        codes = np.unique(given[groups.trains], return_inverse=True)[1]
        if codes.max() + 1 < len(groups):
            return "by_trace", codes
    is_drawn = np.count_nonzero(groups.shares) == len(groups)
    return ("hessian" if is_drawn and np.ptp(groups.weights) == 0 else "by_group"), alone


def _too_little(slopes: FloatArray, form: str, directions: int) -> str:
    """Why the parts of so few clusters, or so small ones, tell nothing; empty where they do."""
    what = "trace" if form == "by_trace" else "query"
    if len(slopes) < 2:
        return f"all groups are of one {what}"
    if len(slopes) <= directions:
        many = what.replace("query", "querie") + "s"
        return f"{len(slopes)} {many} are too few to tell those of {directions} weights"
    if float(np.abs(slopes).max(initial=0.0)) * len(slopes) <= ROUNDING:
        return "every query is fitted to rounding, which leaves nothing to tell them by"
    return ""


def no_optimum(free: Fitted | None, units: FloatArray, names: Sequence[str] | None) -> str:
    """Why the unpenalised likelihood gives no standard errors; empty where it does."""
    if free is None:
        return "a curve has no weight to have one; train.knots 0 gives them"
    if free.escape is not None:
        return f"without a penalty the loss falls for ever along {direction_text(free.escape / units, names)}"
    return "" if free.optimum is Optimum.FOUND else "the optimum without a penalty could not be proved"
