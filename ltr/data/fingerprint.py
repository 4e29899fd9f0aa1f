"""The fingerprint of an evaluation: sixteen digits that are equal where two runs answered the same queries."""

import hashlib
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from ltr.data.groups import Groups

Hashes = npt.NDArray[np.uint64]
ODD = np.uint64(0x9E3779B97F4A7C15)


def fingerprint(groups: Groups) -> str:
    """A digest of the keys of all groups and the names and labels of their candidates, in any order.

    It is the sum of a hash of each row, so the order of groups and rows changes nothing. It shows an accidental
    change; it does not resist a forger.
    """
    candidates = groups.candidates
    traces, nodes = hashed(candidates.trace_ids)[candidates.traces], hashed(candidates.node_ids)
    keys = mixed(mixed(traces) + nodes)
    rows = np.repeat(keys, np.diff(groups.offsets)) ^ mixed(hashed(candidates.name_texts))[candidates.names]
    labelled = mixed(mixed(rows) + (groups.labels + 0.0).view(np.uint64))  # + 0.0: -0.0 is 0.0
    return f"{int(np.add.reduce(labelled)):016x}"


def hashed(texts: Iterable[str]) -> Hashes:
    """64 bits of each text."""
    hashes = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts]
    return np.frombuffer(b"".join(hashes), dtype="<u8").astype(np.uint64)


def mixed(values: Hashes) -> Hashes:
    """Each value with its bits spread, as in SplitMix64."""
    values = (values + ODD) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
