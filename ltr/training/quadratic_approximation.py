"""Learning from outcomes without the training data: a quadratic stands for their objective."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray
from ltr.errors import RunError
from ltr.training.column_scale import in_units
from ltr.training.config import TrainConfig
from ltr.training.identifiability import IDENTIFIED
from ltr.training.model import Model
from ltr.training.objective import derivatives
from ltr.training.trainable_groups import Trainable, TrainingGroups, count_origins, trainable

NEAR = 1e-9  # norm of the gradient from which one more step ends the search: steps converge quadratically
STEPS, HALVINGS = 100, 60


def curvature(
    phi: npt.ArrayLike,
    labels: npt.ArrayLike,
    offsets: npt.ArrayLike,
    config: TrainConfig,
    model: Model,
    *,
    weights: npt.ArrayLike | None = None,
    score_offset: npt.ArrayLike | None = None,
) -> FloatArray:
    """The Hessian at w of groups * objective: the sum over the groups trained on, in which a mean group weighs 1.

    H = groups * (data's Hessian + 2 l2 / units^2), units as `standardize` and terms set them.

    >>> from ltr.training.fit import fit
    >>> data = [[1.0], [0.0], [0.0], [1.0], [1.0], [0.0]], [1, 0] * 3, [0, 2, 4, 6]
    >>> config = TrainConfig(trainer="newton", l2=0.0)
    >>> curvature(*data, config, fit(*data, config)).round(6)  # 3 p (1 - p), p = 2/3
    array([[0.666667]])
    """
    raw = trainable(phi, labels, offsets, weights=weights, score_offset=score_offset, targets_are=config.targets)
    return curvature_of(raw, config, model)


def curvature_of(raw: TrainingGroups, config: TrainConfig, model: Model) -> FloatArray:
    """The same of groups in one shard or several."""
    groups, units = in_units(raw, standardize=config.standardize, terms=model.terms)
    scale = np.ones(len(model.w)) if units is None else units
    data = derivatives(groups, model.w * scale, np.ones(len(scale))).hessian
    hessian = data + 2 * config.penalty * np.eye(len(scale))
    return count_origins(groups) * ((hessian + hessian.T) / 2) * np.outer(scale, scale)  # symmetric to the last bit


@dataclass(frozen=True, slots=True)
class Solved:
    """The optimum for some outcomes, and how far it is proved to be from the exact one."""

    w: FloatArray
    distance: float  # a bound on sqrt((w - optimum)' H0 (w - optimum)): the norm of the gradient in its terms
    hessian: FloatArray  # of the losses of the outcomes, at w


@dataclass(frozen=True)  # no slots: what is found once is kept beside the fields
class Quadratic:
    """What stands for the objective that w was learned with: 1/2 (w - w0)' H0 (w - w0).

    It is exact to second order where w0 is the optimum. After descent, which may end before it, it takes w0 for the
    optimum: outcomes pull w away from w0, and nothing pulls it on to where descent was going.
    """

    w: FloatArray  # w0
    hessian: FloatArray  # H0

    @property
    def basis(self) -> FloatArray:
        """B, (features, directions), with B' H0 B = 1: the directions in which outcomes move w.

        w stays as it is in directions that H0 does not see, whose curvature is at most 1e-12 of the largest: without a
        penalty constant and equal columns. Nothing would say how far to go there.

        >>> Quadratic(np.zeros(2), np.array([[4.0, 0.0], [0.0, 0.0]])).basis
        array([[0.5],
               [0. ]])
        """
        if "found_basis" not in vars(self):  # cached_property of Python 3.11 has a lock, which a fork could leave held
            diagonal = np.diag(self.hessian)
            unit = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
            values, vectors = np.linalg.eigh(self.hessian * np.outer(unit, unit))
            counts = values > IDENTIFIED * max(values[-1], np.finfo(float).tiny)
            vars(self)["found_basis"] = unit[:, np.newaxis] * vectors[:, counts] / np.sqrt(values[counts])
        basis: FloatArray = vars(self)["found_basis"]
        return basis

    @property
    def held(self) -> int:
        """The number of directions in which w stays as it is."""
        return len(self.w) - self.basis.shape[1]

    def solve(
        self,
        phi: FloatArray,
        labels: FloatArray,
        offsets: npt.ArrayLike,
        *,
        start: FloatArray | None = None,
        score_offset: FloatArray | None = None,
    ) -> Solved:
        """The w that minimises 1/2 (w - w0)' H0 (w - w0) + sum over outcomes of -ln p(right), by Newton's method.

        With w = w0 + B z it is 1/2 |z|^2 + a convex function of z: there is one optimum, at most |gradient| away.

        >>> pair = np.array([[1.0], [0.0]]), np.array([1.0, 0.0]), [0, 2]
        >>> solved = Quadratic(np.zeros(1), np.eye(1)).solve(*pair)
        >>> round(float(solved.w[0]), 6), round(float(1 / (1 + np.exp(solved.w[0]))), 6)  # w = 1 - p(right)
        (0.401058, 0.401058)
        """
        groups = trainable(phi, labels, offsets, score_offset=score_offset)
        directions = self.basis.shape[1]
        z = np.zeros(directions) if start is None else self.basis.T @ (self.hessian @ (start - self.w))
        point, is_near = self._at(groups, z), False
        for _ in range(STEPS):
            if is_near:
                break
            is_near = point.norm <= NEAR
            step = _newton_step(point)
            moved = None if step is None else self._line_search(groups, point, step)
            if moved is None:
                break
            point = moved
        if not point.norm <= NEAR * max(1.0, len(groups) * 1e-3):  # NaN fails too
            raise RunError(f"the outcomes' optimum could not be proved: its gradient has the norm {point.norm:.2g}")
        return Solved(point.w, point.norm, point.losses)

    def _at(self, groups: Trainable, z: FloatArray) -> "_Point":
        w, count = self.w + self.basis @ z, len(groups)
        losses = derivatives(groups, w, np.ones(len(w)))
        hessian = count * losses.hessian
        return _Point(
            z,
            w,
            0.5 * float(z @ z) + count * losses.loss,
            z + count * (self.basis.T @ losses.gradient),
            np.eye(len(z)) + self.basis.T @ hessian @ self.basis,
            hessian,
        )

    def _line_search(self, groups: Trainable, point: "_Point", step: FloatArray) -> "_Point | None":
        """The point after the first of step, step / 2, step / 4 ... that lowers objective or gradient; else None."""
        share = 1.0
        for _ in range(HALVINGS):
            moved = self._at(groups, point.z + share * step)
            if moved.objective <= point.objective + 1e-4 * share * float(point.gradient @ step):
                return moved
            if point.norm <= 1e-4 and moved.norm < point.norm:
                return moved  # near the optimum the objective only moves by rounding
            share /= 2
        return None


@dataclass(frozen=True, slots=True)
class _Point:
    z: FloatArray
    w: FloatArray
    objective: float
    gradient: FloatArray  # in z
    curvature: FloatArray  # in z
    losses: FloatArray  # the Hessian of the losses, in w

    @property
    def norm(self) -> float:
        return float(np.linalg.norm(self.gradient))


def _newton_step(point: _Point) -> FloatArray | None:
    """The step to the optimum of the quadratic there; None where huge columns make it singular by rounding."""
    try:
        return np.asarray(np.linalg.solve(point.curvature, -point.gradient), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
