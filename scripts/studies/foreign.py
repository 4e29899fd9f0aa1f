"""What columns are worth on catalogues that training never saw, and the weights that ship with the zero-shot router.

A FOLDER holds catalogues (NAME.tools.json.gz beside NAME.queries.jsonl.gz, lines of {"query", "relevant"}), or is a set
of samples. Of each set 400 queries are drawn, and the whole catalogue is ranked. Each column alone comes first (words:
BM25 over name, description and inputs); then words, letters and the cosine of the text together; then weights that were
learned without the set, pulled towards the centre where words, letters and meaning weigh the same. `--write` learns
from all sets but our own and writes what ships.
"""

import gzip
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ltr import TrainConfig, fit, read_groups, read_tools
from ltr.arrays import offsets_of
from ltr.features import presets
from ltr.samples import Candidates
from ltr.serving import zero_shot_router
from studies.sets import tools_of

QUERIES, SEED = 400, 0
OWN = "tools"  # our own data, which teach nothing that ships: no figure of theirs is of weights that have seen them
L2 = 0.01  # of sixteen settings that left one catalogue out the middle of those that did best with every encoder
NEAREST = 60  # wrong tools of a query from which weights are learned
CENTRE = {"tool.near_words": 3.0, "tool.near_letters": 3.0, "tool.name": 0.0}
CENTRE_OF_MEANING = {"tool.near_text": 1.5, "tool.near_clause": 1.5}
ALONE = ("tool.near_words", "tool.near_letters", "tool.clause_char", "tool.name", "tool.near_text", "tool.near_clause")
AT_ONCE = 16  # queries


@dataclass(frozen=True)
class Catalogue:
    """Tools, queries, and which tools are right: a row a query, a column a tool."""

    name: str
    tools: dict
    queries: list[str]
    is_right: np.ndarray
    digest: str

    def columns(self, names, encoder):
        """Return columns of every query and tool, (queries, tools, columns); the catalogue alone decides all states."""
        weights = dict.fromkeys(names, 1.0)
        router = zero_shot_router(Candidates.of_tools("", self.tools), encoder, weights=weights)
        offer = router.known.own_offer(self.tools, ())
        blocks = [self.queries[first : first + AT_ONCE] for first in range(0, len(self.queries), AT_ONCE)]
        columns = [router.known.phi(router.fitted, offer, block, None).astype(np.float32) for block in blocks]
        return np.concatenate(columns).reshape(len(self.queries), len(self.tools), -1)

    def top1(self, scores):
        """Return how often a right tool has the largest score, ties by their expectation."""
        is_first = scores >= scores.max(axis=1, keepdims=True) - 1e-12
        return float(((is_first & self.is_right).sum(axis=1) / is_first.sum(axis=1)).mean())


def options(parser):
    """Options of the command line."""
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--encoder", nargs="+", default=["hash"], help="(default: hash)")
    parser.add_argument("--write", action="store_true", help="write the weights that ship, learned from all sets")


def main(*, folders, encoder, write):
    """A table an encoder."""
    sets, shipped = [one for folder in folders for one in catalogues(folder)], {}
    for name in encoder:
        print(f"Top-1, {name:8}{''.join(f'{one.name[:9]:>10}' for one in sets)}{'mean':>8}", flush=True)
        shipped[name] = study(sets, name)
    if write:
        made_of = {one.name: one.digest for one in sets if one.name != OWN}
        content = {"format": presets.FORMAT, "encoders": shipped, "made_of": made_of}
        path = Path(presets.__file__).with_name(presets.FILE)
        path.write_text(json.dumps(content, indent=1) + "\n")


def study(sets, encoder):
    """Print the table; the weights of all sets but our own come back."""

    def show(title, scores):
        of_sets = [one.top1(values) for values, one in zip(scores, sets, strict=True)]
        print(f"{title:22}{''.join(f'{value:10.3f}' for value in of_sets)}{np.mean(of_sets):8.4f}", flush=True)

    centre = CENTRE if encoder == "hash" else CENTRE | CENTRE_OF_MEANING
    phi, alone = ([one.columns(names, encoder) for one in sets] for names in (centre, ALONE))
    for place, column in enumerate(ALONE):
        show(column, [values[..., place] for values in alone])
    three = ALONE[:2] + (() if encoder == "hash" else ("tool.near_text",))
    used = [values[..., [ALONE.index(column) for column in three]] for values in alone]
    places = [np.argsort(np.argsort(-values, axis=1, kind="stable"), axis=1, kind="stable") for values in used]
    show("equal sum of z", [standardised(values).sum(axis=2) for values in used])
    show("reciprocal ranks", [(1 / (61 + of_set)).sum(axis=2) for of_set in places])
    pulls = np.array(list(centre.values()))
    show("the centre", [values @ pulls for values in phi])
    rows = [training_rows(one, values) for one, values in zip(sets, phi, strict=True)]
    held = [weights([other for other in rows if other is not own], pulls) for own in rows]
    show("learned without it", [values @ w for values, w in zip(phi, held, strict=True)])
    public = [of_set for of_set, one in zip(rows, sets, strict=True) if one.name != OWN]
    return dict(zip(centre, weights(public, pulls).round(4).tolist(), strict=True))


def standardised(values):
    """Return each column less its mean over the tools, over its deviation."""
    return (values - values.mean(axis=1, keepdims=True)) / (values.std(axis=1, keepdims=True) + 1e-9)


def training_rows(one, phi):
    """Return the columns of each right tool and of the nearest wrong ones, a group each, and its weight."""
    nearness, rows, shares = standardised(phi).sum(axis=2), [], []
    for values, near, is_right in zip(phi, nearness, one.is_right, strict=True):
        wrong = np.flatnonzero(~is_right)
        wrong = wrong[np.argsort(-near[wrong], kind="stable")[:NEAREST]]
        for right in np.flatnonzero(is_right):
            rows.append(values[[right, *wrong]])
            shares.append(1 / (len(phi) * is_right.sum()))
    return rows, np.array(shares)


def weights(sets, centre):
    """Return the optimum of the mean over sets, pulled towards the centre."""
    groups = [rows for of_set, _ in sets for rows in of_set]
    offsets, shares = offsets_of([len(rows) for rows in groups]), np.concatenate([own for _, own in sets])
    labels = np.zeros(offsets[-1])
    labels[offsets[:-1]] = 1  # the right tool stands first
    config = TrainConfig(trainer="newton", l2=L2)
    return fit(np.concatenate(groups), labels, offsets, config, weights=shares, prior=centre).w


def catalogues(folder):
    """Yield the sets of a folder; of a set of samples the training queries, with the tools of all its files."""
    listed = sorted(folder.glob("*.tools.json.gz"))
    for path in listed:
        queries = path.with_name(path.name.replace(".tools.json.gz", ".queries.jsonl.gz"))
        lines = [json.loads(line) for line in gzip.decompress(queries.read_bytes()).splitlines()]
        pairs = [(line["query"], line["relevant"]) for line in lines]
        yield catalogue(path.name.partition(".")[0], read_tools(path), pairs, [path, queries])
    if listed:
        return
    files = [path for path in (folder / "train.jsonl.gz", folder / "test.jsonl.gz") if path.exists()]
    tools = folder / "tools.json"
    groups = [read_groups(str(path)) for path in files]
    candidates, bounds, pairs = groups[0].candidates, groups[0].offsets, []
    for group, (first, last) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
        right = candidates.names[first:last][groups[0].labels[first:last] > 0]
        query = candidates.query_texts[candidates.queries[group]]
        pairs.append((query, [candidates.name_texts[name] for name in right.tolist()]))
    digested = [files[0], tools] if tools.exists() else files
    yield catalogue(folder.name, tools_of(folder, *groups), pairs, digested)


def catalogue(name, tools, pairs, files):
    """Return the set of the pairs of a query and its right tools, as many as are drawn."""
    code = {tool: place for place, tool in enumerate(tools)}
    usable = [(query, [code[tool] for tool in right if tool in code]) for query, right in pairs]
    usable = [pair for pair in usable if pair[1]]
    drawn = np.sort(np.random.default_rng(SEED).permutation(len(usable))[:QUERIES]).tolist()
    is_right = np.zeros((len(drawn), len(tools)), dtype=bool)
    for row, place in enumerate(drawn):
        is_right[row, usable[place][1]] = True
    digest = hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in files)).hexdigest()
    return Catalogue(name, dict(tools), [usable[place][0] for place in drawn], is_right, digest)
