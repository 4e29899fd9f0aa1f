"""Sets where every tool is right equally often: what history is worth there, and what it weighs.

Of a FOLDER with tools.json so many training queries are drawn for each tool, with nine wrong tools beside the right
one. The other folds' counts are then the own label turned round. A weight of tool.lift below 0 by more than two
standard errors, or a Top-1 below a single column's beyond noise, says that columns learn just that. Test queries are
drawn alike.
"""

from pathlib import Path

import numpy as np

from ltr import TrainConfig, fit, read_groups, read_tools
from ltr.features.presets import ALL
from ltr.training.diagnosis import diagnose
from studies import intervals
from studies.sets import columns_of, measured

TOP1 = "top1_accuracy"
TRAIN = TrainConfig(trainer="newton", standardize=True)
WRONG = 9  # candidates beside the right one


def options(parser):
    """Options of the command line."""
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--encoder", default="hash", help="(default: %(default)s)")
    parser.add_argument("--each", type=int, nargs="+", default=[1, 3, 6], help="queries a tool (default: %(default)s)")
    parser.add_argument("--queries", type=int, default=800, help="test queries (default: %(default)s)")


def main(*, folders, encoder, each, queries):
    """A line for each number of queries."""
    for folder in folders:
        tools = read_tools(folder / "tools.json")
        train, test = (right_answers(read_groups(str(folder / f"{split}.jsonl.gz"))) for split in ("train", "test"))
        test = lists(test[:queries], tools, np.random.default_rng(1))
        print(f"{folder.name}, {encoder}: {len(test.offsets) - 1:,} test queries, {len(tools):,} tools")
        for number in each:
            report(number, lists(balanced(train, number), tools, np.random.default_rng(2)), test, encoder)
    return 0


def right_answers(groups):
    """The queries with their right tools, in an order drawn by a seed."""
    candidates, rows = groups.candidates, np.flatnonzero(groups.labels > 0)
    groups_of = np.searchsorted(groups.offsets, rows, side="right") - 1
    tools = [candidates.name_texts[code] for code in candidates.names[rows].tolist()]
    queries = [candidates.query_texts[code] for code in candidates.queries[groups_of].tolist()]
    pairs = list(zip(queries, tools, strict=True))
    return [pairs[place] for place in np.random.default_rng(0).permutation(len(pairs)).tolist()]


def balanced(pairs, number):
    """So many queries of each tool that has them."""
    of_tool = {}
    for query, tool in pairs:
        of_tool.setdefault(tool, []).append(query)
    return [(query, tool) for tool, asked in of_tool.items() if len(asked) >= number for query in asked[:number]]


def lists(pairs, tools, rng):
    """Each query with its right tool and WRONG others; a trace each."""
    names = sorted(tools)

    def lines():
        for place, (query, right) in enumerate(pairs):
            others = [name for name in rng.permutation(names)[: WRONG + 1].tolist() if name != right][:WRONG]
            for tool in rng.permutation([right, *others]).tolist():
                key = {"trace_id": f"t{place}", "node_id": "n0", "query": query}
                yield {**key, "tool": tool, "tool_description": tools[tool].description, "label": int(tool == right)}

    return read_groups(list(lines()))


def report(number, train, test, encoder):
    """Weight and z of tool.lift, Top-1 of the recommended columns, and of the best single one beside it."""
    names = ALL["tool"]
    phi, test_phi = columns_of(names, train, test, encoder)
    inputs = (phi, train.labels, train.offsets, TRAIN)
    model = fit(*inputs)
    errors = diagnose(*inputs, model, clusters=train.candidates.traces, names=names).errors
    lift = names.index("tool.lift")
    weight = f"{model.w[lift]:+.2f} (standard error {errors.standard[lift]:.2f})" if phi[:, lift].any() else "is 0"
    ours = measured(model.scores(test_phi), test).values[TOP1]
    singles = {name: measured(test_phi[:, place], test).values[TOP1] for place, name in enumerate(names)}
    best = max(singles, key=lambda name: singles[name].mean())
    lead = intervals.shown(intervals.difference(test, ours, singles[best], np.random.default_rng(0)), "+")
    print(
        f"  {number} a tool, {len(train.offsets) - 1:,} queries: tool.lift {weight}"
        f"  top-1 {ours.mean():.3f}, less {best} {singles[best].mean():.3f}: {lead}",
        flush=True,
    )
