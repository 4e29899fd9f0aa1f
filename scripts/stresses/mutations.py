"""Damage whatever ltr reads, in this process: all is read in full or refused in one error, and nothing is executed.

Samples, configs, compressed files, models, featurised columns, catalogues, journals, logs of every importer, run
directories and outcomes; each case follows from the seed. Ends with 1 where anything but an error for a user was
raised, where a damaged file was read as if it were whole, where a program was started or a pickle opened.
"""

import random
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np

from ltr.errors import LtrError
from stresses.attacks import Cases, Figure, scratch
from stresses.mutated_inputs import KINDS
from subcommands import at_least

BATCH = 100
FORBIDDEN = ("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "pickle.find_class", "socket.connect")


def options(parser):
    """Options of the command line."""
    kinds = ", ".join(f"{name} {kind.number:,}" for name, kind in KINDS.items())
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"these only; all, and how many of each: {kinds}")
    parser.add_argument("--share", type=float, default=1.0, help="of those numbers (default: %(default)s)")
    parser.add_argument("--seed", type=at_least(0), default=0, help="of every case (default: %(default)s)")


def main(*, kinds, share, seed):
    """A line a kind."""
    warnings.simplefilter("ignore")
    executed = []
    sys.addaudithook(lambda event, _: executed.append(event) if event in FORBIDDEN else None)
    cases, attacks = Cases("mutations", f"--seed {seed} --share {share}"), {}
    for name in kinds or KINDS:
        number = max(BATCH, round(KINDS[name].number * share))
        batches = [(batch, min(BATCH, number - batch * BATCH)) for batch in range(-(-number // BATCH))]
        attacks[name] = batches, batches_of(name, seed, executed)
    with scratch(is_loaded=False), np.errstate(all="ignore"):
        tried, wrong = cases.all_attacked(attacks)
    return Figure(f"{tried:,} damaged inputs, {wrong} wrong", is_good=not wrong, seconds=cases.seconds)


def batches_of(name, seed, executed):
    """Return the attack of a batch of cases; what they need is made once."""
    ready = []

    def attack(batch, size):
        ready[:] = ready or [KINDS[name].prepare()]
        draw, problems = random.Random(f"{seed} {name} {batch}"), []
        for _ in range(size):
            executed.clear()
            problem = wrong_of(lambda: KINDS[name].check(draw, ready[0]))
            problems += [f"it ran {executed[0]}"] if executed else [problem] if problem else []
        return size, [problem[:300] for problem in problems]

    return attack


def wrong_of(check):
    """Return what is wrong, if anything is; `check` raises an AssertionError for what was read wrongly."""
    try:
        check()
    except LtrError as error:
        text = str(error)
        return None if text.strip() and len(text) < 20_000 else f"a message of {len(text)} letters"
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
    return None
