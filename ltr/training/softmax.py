"""The softmax of scores in groups: the probability that a candidate is the right one."""

import numpy as np

from ltr.arrays import FloatArray, IntArray, group_sums


def log_softmax(scores: FloatArray, offsets: IntArray) -> FloatArray:
    """Log probability of each candidate in its group: log p_i = s_i - m - log sum_j exp(s_j - m), m = max_j s_j.

    >>> np.exp(log_softmax(np.array([0.0, np.log(3.0), 5.0]), np.array([0, 2, 3]))).round(12)
    array([0.25, 0.75, 1.  ])
    """
    sizes = np.diff(offsets)
    shifted = scores - np.repeat(np.maximum.reduceat(scores, offsets[:-1]), sizes)
    return shifted - np.repeat(np.log(group_sums(np.exp(shifted), offsets)), sizes)


def softmax(scores: FloatArray, offsets: IntArray) -> FloatArray:
    """Probability of each candidate in its group: p_i = exp(s_i) / sum_j exp(s_j).

    >>> softmax(np.array([0.0, np.log(3.0)]), np.array([0, 2])).round(12)
    array([0.25, 0.75])
    """
    return np.exp(log_softmax(scores, offsets))
