"""Standard errors of the weights at the optimum of the unpenalised likelihood, or why there are none."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray, IntArray
from ltr.errors import UsageError
from ltr.training.designs import TrainingGroups, count_origins, count_positives
from ltr.training.geometry import Geometry, direction_text
from ltr.training.model import Fitted, Optimum
from ltr.training.objective import cluster_spread, derivatives

NORMAL_95 = 1.959963984540054  # half of the 95 % interval, in standard errors
ALIKE = 0.8  # share of effective clusters from which their number is not mentioned
ROUNDING = 1e-9  # of a candidate's probability: a fit this near leaves no residuals to estimate errors from


@dataclass(frozen=True, slots=True)
class StandardErrors:
    """Standard errors at the optimum of the unpenalised likelihood, conditional on phi; raw scale."""

    form: str  # hessian: its inverse; by_trace or by_group: the sandwich, clustered
    clusters: int
    effective_clusters: (
        float  # (sum of their weights)^2 / sum of the squares: one large trace counts little more than one
    )
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


def effective_text(clusters: int, effective: float) -> str:
    """The number of effective clusters; empty where it is close to that of the clusters.

    >>> effective_text(101, 2.24), effective_text(229, 210.0)
    ('2', '')
    """
    return f"{effective:,.0f}" if effective < ALIKE * clusters else ""


def standard_errors(
    groups: TrainingGroups,
    geometry: Geometry,
    free: Fitted | None,
    *,
    clusters: npt.ArrayLike | None,
    units: FloatArray,
    names: Sequence[str] | None,
) -> StandardErrors | str:
    """Standard errors of the unpenalised optimum `free`, in the raw scale; or the reason why there are none.

    With H the Hessian of the mean loss at that optimum and s_c the part of cluster c in the gradient: H^-1 / groups;
    or H^-1 (sum_c s_c s_c') H^-1 * C / (C - 1) where groups depend on each other, differ in weight, or share their
    target among several positives, which is no draw of one candidate from the softmax.
    """
    if free is None:
        return "a curve or a product has no single weight; standard errors need train.knots 0, train.products false"
    if free.escape is not None:
        return f"your data set no limit to the weight of {direction_text(free.escape / units, names)}; more data would"
    if free.optimum is not Optimum.FOUND:
        return "the optimum without a penalty could not be proved"
    basis = geometry.spectrum.identified
    if not basis.shape[1]:
        return "no feature differs between the candidates of a query"
    hessian = basis.T @ derivatives(groups, free.w, geometry.scale).hessian @ basis
    inverse = basis @ np.linalg.pinv(hessian, hermitian=True) @ basis.T
    form, codes = _clustering(groups, clusters)
    covariance, count = inverse / len(groups), len(groups)
    if form != "hessian":
        count = int(codes.max()) + 1
        unit, units_text = ("trace", "traces") if form == "by_trace" else ("query", "queries")
        if count < 2:
            return f"all groups belong to one {unit}"
        if count <= basis.shape[1]:
            return f"{count} {units_text} are too few for standard errors of {basis.shape[1]} weights"
        spread = cluster_spread(groups, free.w, geometry.scale, codes)
        if spread.largest * count <= ROUNDING:
            return "every query is fitted to rounding, which leaves no residuals to estimate them from"
        covariance = inverse @ spread.products @ inverse * (count / (count - 1))
    standard = np.sqrt(np.maximum(np.diag(covariance), 0.0)) / geometry.scale
    standard = np.where(geometry.is_open | (standard == 0), np.nan, standard)
    masses = np.bincount(codes, weights=groups.weights)
    return StandardErrors(form, count, 1.0 / float(masses @ masses), free.w / units, standard / units)


def _clustering(groups: TrainingGroups, clusters: npt.ArrayLike | None) -> tuple[str, IntArray]:
    """The form of the errors, and the cluster of each group that trains, counted from 0.

    Groups of one origin, whose right candidates train apart, lie in one cluster.
    """
    number = count_origins(groups)
    if clusters is not None:
        traces = np.asarray(clusters)
        if traces.shape != groups.trains.shape:
            raise UsageError(f"clusters: one a group is needed {groups.trains.shape}, found shape {traces.shape}")
        codes = np.unique(traces[groups.origins], return_inverse=True)[1]
        if codes.max() + 1 < number:
            return "by_trace", codes
    is_one_draw = count_positives(groups) == number and np.ptp(groups.weights) == 0
    return "hessian" if is_one_draw else "by_group", np.unique(groups.origins, return_inverse=True)[1]
