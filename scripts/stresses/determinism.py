"""The same run again and again, under other hash seeds, locales and time zones: the same bytes.

Then under the kernels of other processors and other numbers of threads, as numpy and OpenBLAS are told to use them: the
same ranks and metrics to 12 digits, weights to 1e-9 relative. Ends with 1 when any differ.
"""

import json
import random
import tempfile
from itertools import product
from pathlib import Path

from processes import environment, run
from stresses.attacks import Cases, Figure, files_without_times, scratch
from subcommands import at_least
from tests.made import ROWS, written

MACHINE = {
    "OMP_NUM_THREADS": ("1", "3"),
    "NUMBA_NUM_THREADS": ("1", "2"),
    "PYTHONHASHSEED": ("0", "1", "random"),
    "LC_ALL": ("C", "C.UTF-8", "tr_TR.UTF-8", "zh_CN.UTF-8"),
    "TZ": ("UTC", "Asia/Tokyo", "America/New_York"),
}
NUMPY = ("", "X86_V4 AVX512_ICL AVX512_SPR", "X86_V3 X86_V4 AVX512_ICL AVX512_SPR")
OPENBLAS = ("Haswell", "SkylakeX", "Zen", "Prescott")
THREADS = ("1", "2", "4", "8")  # of OpenBLAS, which adds in another order with each; ltr itself asks for one


def options(parser):
    """Options of the command line."""
    parser.add_argument("number", nargs="?", type=at_least(1), default=100, help="of repeats (default: %(default)s)")
    parser.add_argument("--variants", type=at_least(1), default=12, help="of kernels (default: %(default)s)")
    parser.add_argument("--seed", type=at_least(0), default=0, help="of the settings (default: %(default)s)")


def main(*, number, variants, seed):
    """What was the same."""
    cases, draw = Cases("determinism", f"--seed {seed}"), random.Random(seed)
    settings = [{name: draw.choice(values) for name, values in MACHINE.items()} for _ in range(number)]
    kernels = [
        {"NPY_DISABLE_CPU_FEATURES": off, "OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": draw.choice(THREADS)}
        for off, core in product(NUMPY, OPENBLAS)
    ]
    with scratch(is_loaded=False):
        for kind, rows in ROWS.items():
            written(f"{kind}.jsonl", rows(range(40)))
            written(f"{kind}-test.jsonl", rows(range(40, 60)))
        first = made({})
        repeats = [("repeat", n) for n in range(number)]
        same = sum(is_same for _, is_same in cases.outcomes(repeats, lambda _, n: made(settings[n]) == first))
        others = [("kernel", n) for n in range(min(variants, len(kernels)))]
        found = [outcome for _, outcome in cases.outcomes(others, lambda _, n: differences(first, made(kernels[n])))]
    equal, farthest = sum(not problems for problems, _ in found), max(distance for _, distance in found)
    print("".join(f"{problem}\n" for problems, _ in found for problem in problems[:3]), end="")
    text = f"{same} of {number} repeats gave the same bytes; {equal} of {len(found)} kernels the same ranks and metrics"
    text += f", weights within {farthest:.0e}"
    return Figure(text, is_good=same == number and equal == len(found), seconds=cases.seconds)


def made(changes):
    """Return the files of two runs under the environment."""
    changed = environment(**{"LTR_CACHE_DIR": tempfile.mkdtemp(dir=Path.cwd())} | changes)
    for kind in ROWS:
        words = (
            f"train {kind}.jsonl --test {kind}-test.jsonl -o runs/{kind} --recommended --encoder hash -q --overwrite"
        )
        done = run(*words.split(), env=changed)
        if done.returncode:
            raise RuntimeError(f"ltr {words} fails under {changes}: {done.stderr}")
    return files_without_times("runs")


def differences(first, other):
    """Return what differs that must not, and how far the weights lie apart."""
    problems, farthest = [], 0.0
    for kind in ROWS:
        for name in ("per_query.jsonl", "metrics.json"):
            mine, theirs = ([rounded(each) for each in documents(files[f"{kind}/{name}"])] for files in (first, other))
            problems += [f"{kind}/{name} differs"] if mine != theirs else []
        pairs = zip(*(weights(json.loads(files[f"{kind}/model.json"])) for files in (first, other)), strict=True)
        farthest = max(farthest, *(abs(a - b) / max(abs(a), 1e-12) for a, b in pairs))
    return problems + ([f"weights {farthest:.1e} apart"] if farthest > 1e-9 else []), farthest


def weights(model):
    """Return the weights of a model file."""
    found = model["training"]["weights"].values() if "weights" in model.get("training", {}) else model["weights"]
    return [value["weight"] if isinstance(value, dict) else value for value in found]


def documents(content):
    """Return the documents of a file: the lines, or all of it."""
    return [json.loads(content)] if content.startswith(b"{\n") else map(json.loads, content.splitlines())


def rounded(value):
    """Return numbers to 12 digits; scores and probabilities follow the weights, and are left out."""
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items() if key not in ("top3_scores", "probability")}
    if isinstance(value, list):
        return [rounded(entry) for entry in value]
    return float(f"{value:.11e}") if isinstance(value, float) else value
