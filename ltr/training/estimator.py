"""The ranker as an estimator for scikit-learn's tools; scikit-learn itself is not needed.

X, y, qid and sample_weight are checked with the messages that those tools expect.
"""

import sys
import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ltr.arrays import BoolArray, FloatArray, IntArray, as_array, as_floats, code_sums, ragged
from ltr.errors import ArrayError, DataError, UsageError
from ltr.evaluation import evaluate, named, order, rank
from ltr.training.config import TrainConfig
from ltr.training.temperature import softmax
from ltr.training.trainers import fit

DEFAULTS = TrainConfig()
TRAINING = ("trainer", "learning_rate", "epochs", "l2", "init", "targets", "standardize", "knots", "products")
PARAMETERS = (*TRAINING, "metric", "single_query")


class NotFittedError(UsageError, AttributeError):
    """A call that needs a fitted ranker."""


class InputError(DataError, ValueError):
    """X, y, qid or sample_weight that cannot be used; a ValueError, as scikit-learn's tools expect."""


@dataclass(frozen=True, slots=True)
class Queries:
    """Rows of X by query: group g has the rows `rows[offsets[g]:offsets[g + 1]]`."""

    rows: IntArray
    offsets: IntArray

    @classmethod
    def of(cls, qid: npt.ArrayLike | None, count: int) -> "Queries":
        """A query for each id, in order of first appearance; all rows are one query without ids."""
        if qid is None:
            return cls(np.arange(count), np.array([0, count]))
        try:
            ids = as_array("qid", qid)
        except ArrayError as error:
            raise InputError(str(error)) from error
        if ids.shape != (count,):
            raise InputError(f"qid: one a row is needed ({count},), found shape {ids.shape}")
        rows_of: dict[Hashable, list[int]] = {}
        for row, query in enumerate(ids.tolist()):
            if query is None or query != query:  # NaN alone differs from itself
                raise InputError(f"qid[{row}]: {query} is no id")
            rows_of.setdefault(query, []).append(row)
        sizes = np.array([0, *map(len, rows_of.values())], dtype=np.int64)
        return cls(np.array([row for rows in rows_of.values() for row in rows], dtype=np.int64), np.cumsum(sizes))

    def where(self, is_wanted: BoolArray) -> "Queries":
        """The queries that are wanted."""
        sizes = np.diff(self.offsets)[is_wanted]
        owner, within = ragged(sizes)
        return Queries(self.rows[self.offsets[:-1][is_wanted][owner] + within], np.concatenate([[0], np.cumsum(sizes)]))

    def in_input_order(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values of the grouped rows in the order of X."""
        placed = np.empty_like(values)
        placed[self.rows] = values
        return placed


class ListwiseRanker:
    """A ranker learned by listwise softmax cross-entropy; rows of one `qid` are ranked against each other.

    Rows without qid are refused: searches and splits of scikit-learn drop it unless metadata routing is enabled, and
    would learn all rows as one query. Where they are one, `single_query=True` says so.

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
        learning_rate: float = DEFAULTS.learning_rate,
        epochs: int = DEFAULTS.epochs,
        l2: float = DEFAULTS.penalty,
        init: float = DEFAULTS.init,
        targets: str = DEFAULTS.targets,
        standardize: bool = DEFAULTS.standardize,
        knots: int = DEFAULTS.knots,
        products: bool = DEFAULTS.products,
        metric: str = "ndcg@10",
        single_query: bool = False,
    ) -> None:
        self.trainer = trainer
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.l2 = l2
        self.init = init
        self.targets = targets
        self.standardize = standardize
        self.knots = knots
        self.products = products
        self.metric = metric
        self.single_query = single_query

    def __repr__(self) -> str:
        return f"ListwiseRanker({', '.join(f'{name}={getattr(self, name)!r}' for name in PARAMETERS)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags  # its caller has it

        return Tags(estimator_type="ranker", target_tags=TargetTags(required=True, positive_only=True))

    def get_metadata_routing(self) -> Any:
        """Ask the searches and splits of scikit-learn to pass on qid and sample_weight, which belong to the rows."""
        from sklearn.utils.metadata_routing import MetadataRequest  # its caller has it

        request = MetadataRequest(owner="ListwiseRanker")
        for method in ("fit", "score", "predict", "predict_proba"):
            getattr(request, method).add_request(param="qid", alias=True)
        for method in ("fit", "score"):
            getattr(request, method).add_request(param="sample_weight", alias=True)
        return request

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
        """Learn `coef_` from the queries of qid, one id a row; a query weighs the mean of its rows' sample_weight."""
        _scoring(self.metric)
        phi, names = checked_matrix(X), column_names(X)
        if len(phi) < 2:
            raise InputError(f"n_samples={len(phi)}: one sample cannot be ranked; a query needs two rows")
        queries, labels = self._queries(qid, len(phi)), checked_column("y", y, len(phi))
        if (labels < 0).any():
            raise InputError("Negative values in data passed to ListwiseRanker: y holds grades of 0 or more")
        weights = query_weights(queries, sample_weight)
        queries = queries.where(weights > 0)
        config = TrainConfig(**{name: getattr(self, name) for name in TRAINING})
        groups = phi[queries.rows], labels[queries.rows], queries.offsets
        try:
            model = fit(*groups, config, weights=weights[weights > 0])
        except DataError as error:
            raise InputError(str(error)) from error
        self.coef_, self.terms_ = model.w, model.terms
        self.training_, self.n_iter_ = model.training, max(model.training.epochs, 1)
        self.n_features_in_ = phi.shape[1]
        vars(self).pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names
        return self

    def predict(self, X: npt.ArrayLike, qid: npt.ArrayLike | None = None) -> FloatArray:  # noqa: N803
        """Score of each row, independent of its query: phi . w, with a column for each knot."""
        phi = self._checked(X)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self.terms_.scores(phi, self.coef_)
        if not np.isfinite(scores).all():
            raise InputError(f"X[{int(np.argmin(np.isfinite(scores)))}]: its score is beyond the range of floats")
        return scores

    def predict_proba(self, X: npt.ArrayLike, qid: npt.ArrayLike | None = None) -> FloatArray:  # noqa: N803
        """Probability of each row to be the right one of its query: exp(s_i) / sum_j exp(s_j), one number a row."""
        scores = self.predict(X)
        queries = self._queries(qid, len(scores))
        return queries.in_input_order(softmax(scores[queries.rows], queries.offsets))

    def rank(self, X: npt.ArrayLike, qid: npt.ArrayLike | None = None) -> IntArray:  # noqa: N803
        """Rank of each row in its query, 1 the best; equal scores in the order of X."""
        scores = self.predict(X)
        queries = self._queries(qid, len(scores))
        ordered_rows = order(rank(scores[queries.rows], queries.offsets), "file")
        ranks = np.empty(len(scores), dtype=np.int64)
        ranks[ordered_rows] = np.arange(len(scores)) - np.repeat(queries.offsets[:-1], np.diff(queries.offsets)) + 1
        return queries.in_input_order(ranks)

    def score(
        self,
        X: npt.ArrayLike,  # noqa: N803
        y: npt.ArrayLike,
        qid: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> float:
        """The metric's mean over the queries with a positive, weighted by the mean of their rows' sample_weight."""
        metric = _scoring(self.metric)
        scores = self.predict(X)
        queries, labels = self._queries(qid, len(scores)), checked_column("y", y, len(scores))
        weights = query_weights(queries, sample_weight)
        least = float(labels[labels > 0].min()) if (labels > 0).any() else 1.0
        ranking = rank(scores[queries.rows], queries.offsets)
        values = evaluate(ranking, labels[queries.rows], [metric], rel_threshold=least).values[metric]
        counted = ~np.isnan(values) & (weights > 0)
        if not counted.any():
            raise InputError("no query has a label above 0: nothing can be scored")
        return float(np.average(values[counted], weights=weights[counted]))

    def _queries(self, qid: npt.ArrayLike | None, count: int) -> Queries:
        if qid is None and not self.single_query:
            raise InputError(
                "qid is missing: without it all rows would be one query. Pass qid, one id a row; searches and splits "
                "of scikit-learn hand it on after sklearn.set_config(enable_metadata_routing=True), as in "
                "search.fit(X, y, qid=qid, groups=qid). If all rows are one query: ListwiseRanker(single_query=True)"
            )
        return Queries.of(qid, count)

    def _checked(self, X: npt.ArrayLike) -> FloatArray:  # noqa: N803
        if not hasattr(self, "coef_"):
            sklearn_exceptions = sys.modules.get("sklearn.exceptions")  # code that catches its error has loaded it
            kind = NotFittedError if sklearn_exceptions is None else sklearn_exceptions.NotFittedError
            raise kind("This ListwiseRanker instance is not fitted yet: call fit first")
        refuse_other_names(getattr(self, "feature_names_in_", None), column_names(X))
        phi = checked_matrix(X)
        if phi.shape[1] != self.n_features_in_:
            expected = f"ListwiseRanker is expecting {self.n_features_in_} features as input"
            raise InputError(f"X has {phi.shape[1]} features, but {expected}")
        return phi


def query_weights(queries: Queries, sample_weight: npt.ArrayLike | None) -> FloatArray:
    """Mean sample_weight of the rows of each query; 1 without sample_weight."""
    if sample_weight is None:
        return np.ones(len(queries.offsets) - 1)
    weights = checked_column("sample_weight", sample_weight, len(queries.rows))
    if (weights < 0).any():
        raise InputError(f"sample_weight[{int(np.argmax(weights < 0))}]: found a weight below 0")
    sizes = np.diff(queries.offsets)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    means = code_sums(codes, weights[queries.rows], len(sizes)) / sizes
    if not means.any():
        raise InputError("sample_weight is zero everywhere")
    return means


def checked_matrix(X: npt.ArrayLike) -> FloatArray:  # noqa: N803
    """X as rows by features, every number finite."""
    if hasattr(X, "toarray"):
        raise InputError("X is sparse; dense data is required: use X.toarray()")
    numbers = _numbers("X", X)
    if numbers.ndim != 2:
        raise InputError(f"Expected 2D array, got {numbers.ndim}D array instead. Reshape your data: rows x features")
    for axis, what in enumerate(("sample", "feature")):
        if numbers.shape[axis] == 0:
            raise InputError(f"0 {what}(s) (shape={numbers.shape}) while a minimum of 1 is required.")
    return numbers


def checked_column(name: str, values: npt.ArrayLike, count: int) -> FloatArray:
    """One finite number for each row; a table of one column will do."""
    if values is None:
        raise InputError(f"{name} is None: this estimator requires y to be passed, but the target y is None")
    numbers = _numbers(name, values)
    if numbers.ndim == 2 and numbers.shape[1] == 1:
        numbers = numbers[:, 0]
    if numbers.shape != (count,):
        raise InputError(f"{name}: one number a row is needed ({count},), found shape {numbers.shape}")
    return numbers


def _numbers(name: str, values: npt.ArrayLike) -> FloatArray:
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise InputError(f"{name}: Complex data not supported")
    try:
        numbers = as_floats(name, array.astype(np.float64) if array.dtype.kind in "bO" else array)
    except (ArrayError, ValueError) as error:
        raise InputError(f"{name}: {error}") from error
    if not np.isfinite(numbers).all():
        raise InputError(f"{name} contains NaN or infinity")
    return numbers


def column_names(X: object) -> npt.NDArray[np.object_] | None:  # noqa: N803
    """The names of a table's columns; None unless all are text."""
    columns = getattr(X, "columns", None)
    names = [] if columns is None else list(columns)
    return np.array(names, dtype=object) if names and all(isinstance(name, str) for name in names) else None


def refuse_other_names(fitted: npt.NDArray[np.object_] | None, names: npt.NDArray[np.object_] | None) -> None:
    """Raise if the names of the columns, or their order, differ from those of the fit; warn if one side has none."""
    if fitted is None and names is not None:
        warnings.warn("X has feature names, but ListwiseRanker was fitted without feature names", stacklevel=4)
    elif fitted is not None and names is None:
        text = "X does not have valid feature names, but ListwiseRanker was fitted with feature names"
        warnings.warn(text, stacklevel=4)
    elif fitted is not None and names is not None and list(fitted) != list(names):
        raise InputError(_names_message(list(fitted), list(names)))


def _names_message(fitted: list[str], names: list[str]) -> str:
    """What is wrong with the names, in scikit-learn's words."""
    text = "The feature names should match those that were passed during fit.\n"
    unexpected = [name for name in names if name not in fitted]
    missing = [name for name in fitted if name not in names]
    for wrong, reason in ((unexpected, "unseen at fit time"), (missing, "seen at fit time, yet now missing")):
        if wrong:
            text += f"Feature names {reason}:\n" + "".join(f"- {name}\n" for name in sorted(wrong)[:5])
    if not unexpected and not missing:
        text += "Feature names must be in the same order as they were in fit.\n"
    return text


def _scoring(metric: str) -> str:
    """The registered name of the metric, if it has a value for each query and more is better, as scikit-learn needs."""
    measure = named(metric)
    if not measure.by_query or measure.less_is_better:
        raise UsageError(f"metric is {metric!r}; one with a value a query, of which more is better, is needed")
    return measure.name
