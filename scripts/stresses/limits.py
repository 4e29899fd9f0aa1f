"""What a small file, a number in it or another thread could cost: memory without end, time that squares, a hang.

White space before the first value, sizes in models that their arrays do not have, the cache of vectors of another user,
forks while threads rank, long chains of responses. Ends with 1 where one costs more than it should.
"""

import contextlib
import gzip
import json
import os
import resource
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np

from ltr.errors import LtrError
from processes import LTR, cpu_of_children, environment, memory_mb, spent
from stresses.attacks import command, finished, fork, scratch
from stresses.mutated_inputs import ranks, trained_models
from stresses.sizes import counted, shown
from tests import test_forks
from tests.made import tool_rows, written
from tests.mutations import write_model

WHITE_MIB, WHITE_MB = 300, 300  # of white space, and the peak of a command that meets it
NUMBERS, MOST_BYTES = (1 << 26, 1 << 33, 1 << 62), 2 << 30  # for sizes in models, and what one may ask for in memory
CHAINS, MOST_TIMES = (1_000, 4_000), 6.5  # responses, and how many times as long the more may take: linear is 4
OTHER_USER = 4321


def main():
    """A line a limit."""
    with scratch():
        return counted("limits", [(name,) for name in LIMITS], lambda name: LIMITS[name]())


def white_space():
    """Much white space before the samples, in a small file."""
    with gzip.open("white.jsonl.gz", "wt", compresslevel=1) as file:
        file.writelines([" " * (1 << 20)] * WHITE_MIB)
        file.writelines(json.dumps(row) + "\n" for row in tool_rows(range(5)))
    return shown(f"{WHITE_MIB} MiB of white space", spent(*LTR, "validate", "white.jsonl.gz"), most_mb=WHITE_MB)


def sizes():
    """Each array of integers in a model of tools and of graphs with a large number: refused, or ranked with."""
    problems, number = [], 0
    for (document, arrays), _, candidates, _ in trained_models():
        for name in [name for name, array in arrays.items() if array.dtype.kind == "i" and array.size]:
            for large in NUMBERS:
                write_model(Path("sized"), document, arrays | {name: np.full_like(arrays[name], large, dtype=np.int64)})
                problems += [f"{name} = {large}"] * bool(finished(fork(lambda rows=candidates: within_memory(rows))))
                number += 1
    print(*problems[:5], sep="\n", end="\n" if problems else "")
    return f"{number} large numbers in models, {len(problems)} of them trusted", not problems


def within_memory(candidates):
    """Rank where there is little memory more than is in use; an error for a user is good."""
    resource.setrlimit(resource.RLIMIT_AS, (int(memory_mb("VmSize") * (1 << 20)) + MOST_BYTES,) * 2)
    warnings.simplefilter("ignore")
    with contextlib.suppress(LtrError), np.errstate(all="ignore"):
        ranks(Path("sized"), candidates)


def other_user():
    """A cache of vectors of another user, in its own directory and behind a link; only root can make one."""
    if os.geteuid() != 0:
        return "not root: no cache of another user", True
    Path("theirs").mkdir()
    os.chown("theirs", OTHER_USER, OTHER_USER)
    Path("link").symlink_to("theirs")
    own, ends = os.environ["LTR_CACHE_DIR"], []
    for name in ("theirs", "link"):
        os.environ["LTR_CACHE_DIR"] = str(Path(name).absolute())
        ends += [finished(command(words)) for words in ("cache info", "cache clear")]
    os.environ["LTR_CACHE_DIR"] = own
    return f"{ends.count(2)} of {len(ends)} looks at the cache of another user refused", ends == [2] * len(ends)


def forks():
    """24 forks while four threads rank with tools that are new to them."""
    written("s.jsonl", tool_rows(range(12)))
    train = "ltr.train('s.jsonl', out=sys.argv[1], encoder='letters', recommended=True)"
    for code in (test_forks.ENCODER.replace(test_forks.LOADED, train), test_forks.ENCODER + test_forks.MANY):
        words, pipes = [sys.executable, "-c", code, "run"], {"capture_output": True, "text": True}
        done = subprocess.run(words, env=environment(), check=False, **pipes)
    return f"24 forks while threads rank ended with {done.stdout.strip() or done.stderr[-200:]}", done.stdout == "{0}\n"


def chains():
    """Chains of responses, each of which goes on from the one before: how many times as long more of them take."""
    seconds = []
    for number in CHAINS:
        written(f"chain-{number}.jsonl", map(response, range(number)))
        before = cpu_of_children()
        if code := finished(command(f"import chain-{number}.jsonl -o of-{number}.jsonl")):
            return f"a chain of {number:,} responses ended with {code}", False
        seconds.append(cpu_of_children() - before)
    fewer, more = seconds
    text = f"a chain of {CHAINS[0]:,} responses {fewer:.1f} s of processors, of {CHAINS[1]:,} {more:.1f} s"
    return text, more < MOST_TIMES * fewer


def response(number):
    """Return a request to the Responses API with its response; every twentieth calls a tool."""
    tools = [{"type": "function", "name": name, "description": f"{name}s something"} for name in ("mail", "search")]
    called = {"type": "function_call", "call_id": f"c{number}", "name": "mail", "arguments": "{}"}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": f"answer {number}"}]}
    earlier = {"previous_response_id": f"resp_{number - 1}"} if number else {}
    request = {"model": "m", "input": f"question {number}", "tools": tools} | earlier
    return request | {"id": f"resp_{number}", "status": "completed", "output": [said if number % 20 else called]}


LIMITS = {
    "white space": white_space,
    "sizes": sizes,
    "another user": other_user,
    "forks": forks,
    "chains": chains,
}
