"""Independent answers: the specification's loops written out plainly, and brute force over every order."""

from collections import Counter
from functools import cache
from itertools import groupby, permutations, product
from math import log2, prod

import numpy as np


def random_groups(rng, groups, *, features=3, sizes=(1, 12), positives=2, grades=1, decimals=None):
    """phi, labels, offsets: ragged groups, up to `positives` labels of 1..grades each, rounded scores tie."""
    lengths = rng.integers(sizes[0], sizes[1] + 1, groups)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    phi = rng.normal(size=(offsets[-1], features))
    labels = np.zeros(offsets[-1])
    for first, last in zip(offsets[:-1], offsets[1:], strict=True):
        right = rng.permutation(np.arange(first, last))[: rng.integers(0, positives + 1)]
        labels[right] = rng.integers(1, grades + 1, len(right))
    return (phi if decimals is None else phi.round(decimals)), labels, offsets


def slices(offsets):
    """The rows of each group."""
    return [slice(first, last) for first, last in zip(offsets[:-1], offsets[1:], strict=True)]


def naive_descent(phi, labels, offsets, *, learning_rate, epochs, l2, weights=None):
    """The specification's training loop, targets summing to 1, the logarithm taken exactly."""
    w, history = np.ones(phi.shape[1]), []
    used = [(g, rows) for g, rows in enumerate(slices(offsets)) if labels[rows].size >= 2 and labels[rows].sum() > 0]
    weights = np.ones(len(offsets) - 1) if weights is None else weights
    mean_weight = np.mean([weights[g] for g, _ in used])
    for _ in range(epochs):
        losses = []
        for g, rows in used:
            x, t = phi[rows], labels[rows] / labels[rows].sum()
            s = x @ w
            p = np.exp(s - s.max()) / np.exp(s - s.max()).sum()
            log_p = s - s.max() - np.log(np.exp(s - s.max()).sum())
            losses.append(weights[g] * (-(t * log_p).sum() + l2 * (w**2).sum()))
            w = w - learning_rate * (weights[g] / mean_weight * (x.T @ (p - t)) + 2 * l2 * w)
        history.append(sum(losses) / sum(weights[g] for g, _ in used))
    return w, np.array(history)


def naive_objective(w, phi, labels, offsets, l2, weights=None):
    """Mean cross-entropy over the groups that train, plus l2 * |w|^2."""
    total = count = 0.0
    for g, rows in enumerate(slices(offsets)):
        if labels[rows].size < 2 or labels[rows].sum() == 0:
            continue
        weight = 1.0 if weights is None else weights[g]
        s, t = phi[rows] @ w, labels[rows] / labels[rows].sum()
        log_p = s - s.max() - np.log(np.exp(s - s.max()).sum())
        total, count = total - weight * (t * log_p).sum(), count + weight
    return total / count + l2 * (w**2).sum()


def hit(ordered, threshold, k):
    return float(any(label >= threshold for label in ordered[:k]))


def reciprocal_rank(ordered, threshold, k):
    for place, label in enumerate(ordered[:k], start=1):
        if label >= threshold:
            return 1 / place
    return 0.0


def precision(ordered, threshold, k):
    return sum(label >= threshold for label in ordered[:k]) / k


def recall(ordered, threshold, k):
    return sum(label >= threshold for label in ordered[:k]) / sum(label >= threshold for label in ordered)


def complete(ordered, threshold, k):
    return float(all(label < threshold for label in ordered[k:]))


def average_precision(ordered, threshold, k):
    found, total = 0, 0.0
    for place, label in enumerate(ordered[:k], start=1):
        if label >= threshold:
            found += 1
            total += found / place
    return total / sum(label >= threshold for label in ordered)


def f_beta(beta):
    def of_list(ordered, threshold, k):
        p, r = precision(ordered, threshold, k), recall(ordered, threshold, k)
        return (1 + beta**2) * p * r / (beta**2 * p + r) if p + r else 0.0

    return of_list


def cg(ordered, threshold, k):
    return float(sum(ordered[:k]))


def err(ordered, threshold, k):
    """Chapelle's loop, greatest grade 3."""
    reach, total = 1.0, 0.0
    for place, label in enumerate(ordered[:k], start=1):
        stop = (2**label - 1) / 2**3
        total += reach * stop / place
        reach *= 1 - stop
    return total


def dcg(ordered, threshold, k):
    return sum(label / log2(place + 1) for place, label in enumerate(ordered[:k], start=1))


def dcg_exp(ordered, threshold, k):
    return sum((2**label - 1) / log2(place + 1) for place, label in enumerate(ordered[:k], start=1))


def idcg(ordered, threshold, k):
    return dcg(sorted(ordered, reverse=True), threshold, k)


def idcg_exp(ordered, threshold, k):
    return dcg_exp(sorted(ordered, reverse=True), threshold, k)


def ndcg(ordered, threshold, k):
    return dcg(ordered, threshold, k) / dcg(sorted(ordered, reverse=True), threshold, k)


def ndcg_exp(ordered, threshold, k):
    return dcg_exp(ordered, threshold, k) / dcg_exp(sorted(ordered, reverse=True), threshold, k)


MEASURES = {
    "hit": hit,
    "mrr": reciprocal_rank,
    "precision": precision,
    "recall": recall,
    "complete": complete,
    "map": average_precision,
    "f1": f_beta(1),
    "f2": f_beta(2),
    "f0.5": f_beta(0.5),
    "err": err,
    "cg": cg,
    "idcg": idcg,
    "idcg_exp": idcg_exp,
    "dcg": dcg,
    "dcg_exp": dcg_exp,
    "ndcg": ndcg,
    "ndcg_exp": ndcg_exp,
}


@cache
def value(name, ordered, threshold, k):
    """The measure called NAME of labels in ranked order."""
    return MEASURES[name](ordered, threshold, k)


def ordered_labels(scores, labels, ties, keys):
    """Labels in ranked order under a rule that fixes the order, by Python's own sort."""
    second = {
        "file": lambda i: i,
        "trec": lambda i: -keys[i],
        "best": lambda i: -labels[i],
        "worst": lambda i: labels[i],
    }[ties]
    return tuple(labels[i] for i in sorted(range(len(scores)), key=lambda i: (-scores[i], second(i))))


def expected_value(name, scores, labels, threshold, k):
    """Mean of the measure over every order of every tie."""
    orders = all_orders(scores, labels)
    return sum(count * value(name, each, threshold, k) for each, count in orders) / sum(count for _, count in orders)


@cache
def all_orders(scores, labels):
    """Every list of labels that some order of the ties gives, and how many orders give it."""
    ranked = sorted(zip(scores, labels, strict=True), key=lambda pair: -pair[0])
    blocks = [[label for _, label in block] for _, block in groupby(ranked, key=lambda pair: pair[0])]
    orders = product(*(Counter(permutations(block)).items() for block in blocks))
    return [(sum((block for block, _ in each), ()), prod(count for _, count in each)) for each in orders]


def conditional_logit(w, phi, labels, offsets):
    """Of each group the gradient of its log likelihood, and the sum of their information, by loops."""
    slopes, information = [], np.zeros((phi.shape[1], phi.shape[1]))
    for rows in slices(offsets):
        x, t = phi[rows], labels[rows] / labels[rows].sum()
        p = np.exp(x @ w - (x @ w).max())
        p /= p.sum()
        mean = p @ x
        slopes.append((t - p) @ x)
        for row, share in zip(x, p, strict=True):
            information += share * np.outer(row - mean, row - mean)
    return np.array(slopes), information
