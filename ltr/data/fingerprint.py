"""The fingerprint of an evaluation: sixteen digits that are equal where two runs answered the same queries."""

import numpy as np

from ltr.data.groups import Groups
from ltr.data.text_hashes import hashed, mixed


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
