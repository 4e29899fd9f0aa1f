"""Small samples for tests: tools and graphs with texts, several groups a trace, drawn from a seed."""

import json

import numpy as np

VERBS = ["find", "book", "cancel", "list", "translate", "convert", "send", "draw"]
THINGS = ["flights", "hotels", "weather", "stocks", "emails", "images", "files", "maps"]


def tool_lines(seed=0, traces=12, groups=3, candidates=4):
    """Lines of tool samples: the right tool shares a word with the query, most of the time."""
    rng = np.random.default_rng(seed)
    names = [f"{verb}_{thing}" for verb in VERBS for thing in THINGS]
    for trace in range(traces):
        for group in range(groups):
            offered = rng.permutation(names)[:candidates].tolist()
            right = int(rng.integers(candidates))
            query = f"please {offered[right].replace('_', ' my ')} now" if rng.random() < 0.8 else "help me out"
            for place, name in enumerate(offered):
                yield {
                    "trace_id": f"t{trace}",
                    "node_id": f"n{group}",
                    "query": query,
                    "tool": name,
                    "tool_description": f"{name.split('_')[0]}s {name.split('_')[1]} for a person",
                    "label": int(place == right),
                }


def drawn(rng, values):
    """What `rng.choice` gives, without its array of the values."""
    return values[rng.integers(len(values))]


def tree(rng, size):
    """A connected tree of `size` nodes, none for size 0."""
    nodes = [
        {"id": f"a{n}", "name": f"{drawn(rng, VERBS)} {drawn(rng, THINGS)}", "description": "does its part"}
        for n in range(size)
    ]
    edges = [{"source": f"a{rng.integers(n)}", "target": f"a{n}"} for n in range(1, size)]
    return {"nodes": nodes, "edges": edges}


def graph_lines(seed=0, traces=12, groups=2, candidates=4):
    """Lines of graph samples; some graphs are empty, some queries short."""
    rng = np.random.default_rng(seed)
    for trace in range(traces):
        for group in range(groups):
            right = int(rng.integers(candidates))
            words = [THINGS[place] for place in rng.integers(len(THINGS), size=int(rng.integers(1, 9)))]
            for place in range(candidates):
                yield {
                    "trace_id": f"t{trace}",
                    "node_id": group,
                    "query": " ".join(words),
                    "candidate_id": f"g{place}",
                    "candidate_type": drawn(rng, ["chain", "star", "tree"]),
                    "tree": tree(rng, int(rng.integers(0, 7))),
                    "label": int(place == right),
                }


def write_lines(path, lines):
    """The path, after writing the lines as JSONL."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


class LetterEncoder:
    """A small real encoder: a unit vector of letter counts; an empty text gives zeros."""

    name = "letters"

    def __init__(self):
        self.encoded = []

    @classmethod
    def fitted(cls, texts):
        return cls()

    @classmethod
    def restored(cls, state):
        return cls()

    @property
    def state(self):
        return {}

    revision = "1"

    @classmethod
    def is_installed(cls):
        return True

    def identity(self, role):
        return None

    def encode(self, texts, role):
        from ltr.encoders.vectors import Dense  # samples are made without it

        self.encoded += texts
        letters = "abcdefghijklmnopqrstuvwxyz"
        counts = np.array([[text.lower().count(letter) for letter in letters] for text in texts]).reshape(-1, 26)
        lengths = np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-12)
        return Dense(counts / lengths)


def state_of(config, groups, encoder=None):
    """What one feature learns from the groups."""
    from ltr.features import fit_states

    return fit_states([config], groups, encoder or LetterEncoder())[0]


def column_of(config, candidates, state, encoder=None):
    """The column of one feature."""
    from ltr.features import FittedFeatures

    return FittedFeatures(candidates.kind, (config,), (state,), encoder or LetterEncoder())(candidates)[:, 0]


def run_app(app, *arguments):
    """What a command printed, with everything it told on stderr."""
    from typer.testing import CliRunner

    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.output
    return done.output


def side_of(groups, chosen):
    """The side of a dealing that holds the chosen groups, which are all of their traces."""
    from ltr.hashes import hashed
    from ltr.splits import Dealt, Side

    candidates = groups.candidates
    is_chosen = np.isin(np.arange(len(candidates.trace_ids)), candidates.traces[chosen])
    return Side(Dealt.of(hashed(candidates.trace_ids), is_chosen.astype(np.int64)), (1,))


def features_of(groups, config):
    """The columns of a run of the config, of training groups in memory."""
    from ltr.columns import Data, Features
    from ltr.samples import Whole

    return Features(config, Data(kind=groups.candidates.kind, train=Whole(groups), files={}))


def score_offset(groups):
    """What a training adds to the score of each row."""
    from ltr.featurized import design_of

    return design_of(groups, np.empty((len(groups.labels), 0))).score_offset
