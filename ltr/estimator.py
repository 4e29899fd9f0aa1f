"""The ranker as an estimator that scikit-learn's tools can use; scikit-learn itself is not needed."""

import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray, IntArray, as_floats, code_sums
from ltr.errors import ArrayError, DataError, UsageError
from ltr.listwise import softmax
from ltr.metrics import evaluate, named
from ltr.ranking import order, rank
from ltr.train import TrainConfig, fit

PARAMETERS = ("trainer", "learning_rate", "epochs", "l2", "init", "targets", "standardize", "metric")


class InputError(DataError, ValueError):
    """X, y, qid or sample_weight that cannot be used; scikit-learn's tools know it as a ValueError."""


class NotFittedError(UsageError, AttributeError):
    """Asked for what only a fit gives."""


@dataclass(frozen=True, slots=True)
class Queries:
    """The rows of each query together: `rows` are places in X, group g owns offsets[g]:offsets[g + 1] of them."""

    rows: IntArray
    offsets: IntArray

    @classmethod
    def of(cls, qid: npt.ArrayLike | None, count: int) -> "Queries":
        """One query an id, in order of first appearance; one query of all rows without ids."""
        if qid is None:
            return cls(np.arange(count), np.array([0, count]))
        ids = np.asarray(qid)
        if ids.shape != (count,):
            raise InputError(f"qid: one a row is needed ({count},), found shape {ids.shape}")
        codes: dict[Any, int] = {}
        found = [codes.setdefault(each, len(codes)) for each in ids.tolist()]
        members: list[list[int]] = [[] for _ in codes]
        for row, code in enumerate(found):
            members[code].append(row)
        sizes = np.array([0, *map(len, members)], dtype=np.int64)
        return cls(np.array([row for rows in members for row in rows], dtype=np.int64), np.cumsum(sizes))

    def in_input_order(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values of the grouped rows, as the rows stand in X."""
        placed = np.empty_like(values)
        placed[self.rows] = values
        return placed


class ListwiseRanker:
    """A linear ranker learned by listwise softmax cross-entropy; rows of one `qid` are ranked against each other.

    >>> X, y, qid = np.array([[1.0], [0.0], [0.0], [1.0], [1.0], [0.0]]), [1, 0, 1, 0, 1, 0], [7, 7, 8, 8, 9, 9]
    >>> ranker = ListwiseRanker(l2=0.0).fit(X, y, qid=qid)
    >>> ranker.coef_.round(6), ranker.predict_proba(X, qid=qid)[:2].round(3)
    (array([0.693147]), array([0.667, 0.333]))
    """

    _estimator_type = "ranker"

    def __init__(
        self,
        *,
        trainer: str = "newton",
        learning_rate: float = 0.01,
        epochs: int = 100,
        l2: float = 0.001,
        init: float = 1.0,
        targets: str = "label",
        standardize: bool = False,
        metric: str = "ndcg@10",
    ) -> None:
        self.trainer = trainer
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.l2 = l2
        self.init = init
        self.targets = targets
        self.standardize = standardize
        self.metric = metric

    def __repr__(self) -> str:
        return f"ListwiseRanker({', '.join(f'{name}={getattr(self, name)!r}' for name in PARAMETERS)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags  # its caller has it

        return Tags(estimator_type="ranker", target_tags=TargetTags(required=True, positive_only=True))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Every parameter by name; `deep` is there for scikit-learn."""
        return {name: getattr(self, name) for name in PARAMETERS}

    def set_params(self, **params: Any) -> "ListwiseRanker":
        """The ranker itself, with these parameters."""
        for name, value in params.items():
            if name not in PARAMETERS:
                raise UsageError(f"Invalid parameter {name!r} for estimator {self!r}; known: {', '.join(PARAMETERS)}")
            setattr(self, name, value)
        return self

    def fit(
        self,
        X: npt.ArrayLike,  # noqa: N803 - scikit-learn's name
        y: npt.ArrayLike,
        qid: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> "ListwiseRanker":
        """Learn `coef_`; without qid all rows are one query. A query weighs the mean of its rows' sample_weight."""
        phi, names = matrix(X), column_names(X)
        if len(phi) < 2:
            raise InputError(f"n_samples={len(phi)}: one sample cannot be ranked; a query needs two rows")
        queries, labels = Queries.of(qid, len(phi)), column("y", y, len(phi))
        if (labels < 0).any():
            raise InputError("Negative values in data passed to ListwiseRanker: y holds grades of 0 or more")
        weights = None if sample_weight is None else _means(queries, column("sample_weight", sample_weight, len(phi)))
        if weights is not None and not weights.any():
            raise InputError("sample_weight is zero everywhere")
        settings = {name: value for name, value in self.get_params().items() if name != "metric"}
        given = (phi[queries.rows], labels[queries.rows], queries.offsets, TrainConfig(**settings))
        try:
            model = fit(*given, weights=weights)
        except DataError as error:
            raise InputError(str(error)) from error
        self.coef_, self.training_, self.n_iter_ = model.w, model.training, max(model.training.epochs, 1)
        self.n_features_in_ = phi.shape[1]
        vars(self).pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names
        return self

    def predict(self, X: npt.ArrayLike, qid: npt.ArrayLike | None = None) -> FloatArray:  # noqa: N803
        """Score of each row: phi . w, whatever its query."""
        phi = self._checked(X)
        with np.errstate(over="ignore", invalid="ignore"):
            scores: FloatArray = np.einsum("ij,j->i", phi, self.coef_)
        return scores

    def predict_proba(self, X: npt.ArrayLike, qid: npt.ArrayLike | None = None) -> FloatArray:  # noqa: N803
        """Probability of each row to be the right one of its query: exp(s_i) / sum_j exp(s_j), one number a row."""
        scores = self.predict(X)
        queries = Queries.of(qid, len(scores))
        return queries.in_input_order(softmax(scores[queries.rows], queries.offsets))

    def rank(self, X: npt.ArrayLike, qid: npt.ArrayLike | None = None) -> IntArray:  # noqa: N803
        """Place of each row in its query, 1 the best; equal scores as given."""
        scores = self.predict(X)
        queries = Queries.of(qid, len(scores))
        listed = order(rank(scores[queries.rows], queries.offsets), "file")
        places = np.empty(len(scores), dtype=np.int64)
        places[listed] = np.arange(len(scores)) - np.repeat(queries.offsets[:-1], np.diff(queries.offsets)) + 1
        return queries.in_input_order(places)

    def score(
        self,
        X: npt.ArrayLike,  # noqa: N803
        y: npt.ArrayLike,
        qid: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> float:
        """The metric's mean over the queries with a positive, weighted by the mean of their rows' sample_weight."""
        scores = self.predict(X)
        queries, labels = Queries.of(qid, len(scores)), column("y", y, len(scores))
        least = float(labels[labels > 0].min()) if (labels > 0).any() else 1.0
        ranking = rank(scores[queries.rows], queries.offsets)
        found = evaluate(ranking, labels[queries.rows], [self.metric], rel_threshold=least)
        values = found.values[named(self.metric).name]
        counted = ~np.isnan(values)
        if not counted.any():
            raise InputError("no query has a label above 0: nothing can be scored")
        weights = np.ones(len(scores)) if sample_weight is None else column("sample_weight", sample_weight, len(scores))
        return float(np.average(values[counted], weights=_means(queries, weights)[counted]))

    def _checked(self, X: npt.ArrayLike) -> FloatArray:  # noqa: N803
        if not hasattr(self, "coef_"):
            known = sys.modules.get("sklearn.exceptions")  # whoever catches scikit-learn's own has loaded it
            kind = NotFittedError if known is None else known.NotFittedError
            raise kind("This ListwiseRanker instance is not fitted yet: call fit first")
        refuse_other_names(getattr(self, "feature_names_in_", None), column_names(X))
        phi = matrix(X)
        if phi.shape[1] != self.n_features_in_:
            expected = f"ListwiseRanker is expecting {self.n_features_in_} features as input"
            raise InputError(f"X has {phi.shape[1]} features, but {expected}")
        return phi


def _means(queries: Queries, weights: FloatArray) -> FloatArray:
    """Mean weight of each query's rows."""
    sizes = np.diff(queries.offsets)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    return code_sums(codes, weights[queries.rows], len(sizes)) / sizes


def matrix(X: npt.ArrayLike) -> FloatArray:  # noqa: N803
    """X as rows by features, every number finite."""
    if hasattr(X, "toarray"):
        raise InputError("X is sparse; dense data is required: use X.toarray()")
    given = _numbers("X", X)
    if given.ndim != 2:
        raise InputError(f"Expected 2D array, got {given.ndim}D array instead. Reshape your data: rows x features")
    for axis, what in enumerate(("sample", "feature")):
        if given.shape[axis] == 0:
            raise InputError(f"0 {what}(s) (shape={given.shape}) while a minimum of 1 is required.")
    return given


def column(name: str, values: npt.ArrayLike, count: int) -> FloatArray:
    """One finite number a row; a single column of a table is taken for one."""
    if values is None:
        raise InputError(f"{name} is None: this estimator requires y to be passed, but the target y is None")
    given = _numbers(name, values)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.shape != (count,):
        raise InputError(f"{name}: one number a row is needed ({count},), found shape {given.shape}")
    return given


def _numbers(name: str, values: npt.ArrayLike) -> FloatArray:
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise InputError(f"{name}: Complex data not supported")
    try:
        given = as_floats(name, array.astype(np.float64) if array.dtype.kind in "bO" else array)
    except (ArrayError, ValueError) as error:
        raise InputError(f"{name}: {error}") from error
    if not np.isfinite(given).all():
        raise InputError(f"{name} contains NaN or infinity")
    return given


def column_names(X: object) -> npt.NDArray[np.object_] | None:  # noqa: N803
    """The names of a table's columns; None unless all are text."""
    columns = getattr(X, "columns", None)
    names = [] if columns is None else list(columns)
    return np.array(names, dtype=object) if names and all(isinstance(name, str) for name in names) else None


def refuse_other_names(fitted: npt.NDArray[np.object_] | None, given: npt.NDArray[np.object_] | None) -> None:
    """Raise for columns of other names, or in another order, than those of the fit; warn where one side has none."""
    if fitted is None and given is not None:
        warnings.warn("X has feature names, but ListwiseRanker was fitted without feature names", stacklevel=4)
    elif fitted is not None and given is None:
        text = "X does not have valid feature names, but ListwiseRanker was fitted with feature names"
        warnings.warn(text, stacklevel=4)
    elif fitted is not None and given is not None and list(fitted) != list(given):
        raise InputError(names_message(list(fitted), list(given)))


def names_message(fitted: list[str], given: list[str]) -> str:
    """What is wrong with the names, as scikit-learn words it."""
    text = "The feature names should match those that were passed during fit.\n"
    unexpected, missing = [each for each in given if each not in fitted], [each for each in fitted if each not in given]
    for names, words in ((unexpected, "unseen at fit time"), (missing, "seen at fit time, yet now missing")):
        if names:
            text += f"Feature names {words}:\n" + "".join(f"- {name}\n" for name in sorted(names)[:5])
    if not unexpected and not missing:
        text += "Feature names must be in the same order as they were in fit.\n"
    return text
