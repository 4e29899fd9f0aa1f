"""Damage whatever ltr reads, in this process: all is read in full or refused in one error, and nothing is executed.

Samples, configs, compressed files, models, featurised columns, catalogues, journals, logs of every importer, run
directories and outcomes; each case follows from the seed. Ends with 1 where anything but an error for a user was
raised, where a damaged file was read as if it were whole, where a program was started or a pickle opened.
"""

import contextlib
import random
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from ltr.errors import LtrError
from stresses import mutated_inputs
from stresses.cases import Cases, Figure
from subcommands import at_least

BATCH = 100
FORBIDDEN = ("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "pickle.find_class", "socket.connect")


def options(parser):
    """Options of the command line."""
    kinds = ", ".join(f"{name} {kind.number:,}" for name, kind in mutated_inputs.KINDS.items())
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"these only; all, and how many of each: {kinds}")
    parser.add_argument("--share", type=float, default=1.0, help="of those numbers (default: %(default)s)")
    parser.add_argument("--seed", type=at_least(0), default=0, help="of every case (default: %(default)s)")


def main(*, kinds, share, seed):
    """A line a kind."""
    warnings.simplefilter("ignore")
    executed = []
    sys.addaudithook(lambda event, _: executed.append(event) if event in FORBIDDEN else None)
    cases, tried, wrong = Cases("mutations", f"--seed {seed} --share {share}"), 0, 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), np.errstate(all="ignore"):
        for name in kinds or mutated_inputs.KINDS:
            kind = mutated_inputs.KINDS[name]
            number = max(BATCH, round(kind.number * share))
            batches = [(name, batch, min(BATCH, number - batch * BATCH)) for batch in range(-(-number // BATCH))]
            refused, problems, ready = 0, [], []

            def of_batch(_, batch, size, kind=kind, ready=ready, name=name):
                if not ready:
                    ready.append(kind.prepare())
                draw, outcomes = random.Random(f"{seed} {name} {batch}"), []
                for _case in range(size):
                    executed.clear()
                    outcome = outcome_of(lambda: kind.check(draw, ready[0]))
                    outcomes.append(f"it ran {executed[0]}" if executed else outcome)
                strange = [outcome for outcome in outcomes if outcome not in ("read", "refused")]
                return outcomes.count("refused"), strange

            for _, (number_refused, strange) in cases.outcomes(batches, of_batch):
                refused, problems = refused + number_refused, problems + strange
            tried, wrong = tried + number, wrong + len(problems)
            print(f"{name:12} {number:7,} inputs, {refused:7,} refused, {len(problems)} wrong", flush=True)
            print(*(f"    {problem[:300]}" for problem in problems[:5]), sep="\n", end="\n" if problems else "")
    return Figure(f"{tried:,} damaged inputs, {wrong} wrong", is_good=not wrong, seconds=cases.seconds)


def outcome_of(check):
    """What came of it: read, refused, or what is wrong; `check` raises an AssertionError for what was read wrongly."""
    try:
        check()
    except LtrError as error:
        text = str(error)
        return "refused" if text.strip() and len(text) < 20_000 else f"a message of {len(text)} letters"
    except Exception as error:
        import traceback

        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
    return "read"
