"""Two nodes of Ray on this machine: the same bytes as in one process, also where a node is killed in the middle.

Two raylets on 127.0.0.1 and 127.0.0.2. Columns, weights and folds are made without them, then on both nodes while the
second one is killed with -9. Needs Linux and the package ray, which is fetched where it can be; else nothing is tested,
and that is said.
"""

import importlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from environment import ready
from processes import environment, run, start
from stresses.attacks import Figure, files_without_times, scratch
from subcommands import ROOT, at_least
from tests.made import tool_rows, written

HOST, OTHER = "127.0.0.1", "127.0.0.2"
STORE = 150_000_000  # bytes of each object store
PATIENCE = 60.0  # seconds for a node to come up
LONGEST = 300.0  # seconds of a command
TRIES = 3  # to kill a node in the middle: a quick command may end before
RAY = [sys.executable, "-c", "from ray.scripts.scripts import main; main()", "start"]
SYSTEM = {"health_check_period_ms": 1000, "health_check_initial_delay_ms": 1000}  # a lost node is missed soon
SYSTEM |= {"worker_niceness": 0}  # Ray's workers wait for all others: on a busy machine that takes minutes
WORKER = b"ray::_Worker"  # how the process of a worker is named, once the first shards are given out
FEATURES = "--features tool.rel,tool.hist,tool.lift,tool.clause_char --encoder hash --shard-rows 500 -q"
TRAIN = ("train", "columns/", "--trainer", "newton", "-q", "--set")
COMMANDS = {  # what must write the same bytes
    "featurize": ("featurize", "samples.jsonl", *FEATURES.split()),
    "newton": (*TRAIN, "train.knots=3"),
    "folds": (*TRAIN, "train.folds=2", "--set", "train.l2=[0.01, 1.0]"),
}
REFUSED = "featurize samples.jsonl -o refused/ --features tool.hist --engine ray -q --address"


def options(parser):
    """Options of the command line."""
    parser.add_argument("--traces", type=at_least(20), default=800, help="of the samples (default: %(default)s)")


def main(*, traces):
    """A line a command; then how many wrote what they should."""
    if not sys.platform.startswith("linux"):
        return skipped("it finds processes under /proc, which only Linux has")
    if find_spec("ray") is None:
        with suppress(SystemExit):
            ready("ray")
        importlib.invalidate_caches()
    if find_spec("ray") is None:
        return skipped("the package ray is not installed and cannot be fetched")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # no node outlives this
    try:
        with scratch(is_loaded=False) as folder, Cluster(folder) as cluster:
            written("samples.jsonl", tool_rows(range(traces)))
            made = cluster.ended(start(*COMMANDS["featurize"], "-o", "columns/", **cluster.pipes))
            if made[0]:
                raise SystemExit(f"the columns to learn from cannot be made: {made[2]}")
            good = [no_cluster(cluster), *(same_bytes(what, cluster) for what in COMMANDS), other_version(cluster)]
    except NoNodeError as error:
        return skipped(str(error))
    return Figure(f"{sum(good)} of {len(good)} as wanted", all(good))


def skipped(why):
    """Say aloud that nothing was tested."""
    return Figure(f"SKIPPED: scripts/stress cluster tested nothing: {why}", is_good=True)


class NoNodeError(Exception):
    """Ray itself does not start here."""


class Cluster:
    """Two nodes, each a `ray start` in a session of its own, whose processes are ended by their numbers."""

    def __init__(self, folder):
        self.folder, self.nodes = folder, {}
        token = folder / "token"
        token.write_text(secrets.token_hex(16))
        self.variables = environment(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN_PATH=str(token))
        self.pipes = {"env": self.variables, "text": True, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.address = f"{HOST}:{free_port()}"

    def __enter__(self):
        try:
            port = self.address.partition(":")[2]
            flags = (f"--port={port}", "--include-dashboard=false", f"--temp-dir={self.folder}/r")
            self.start(HOST, "--head", *flags, f"--system-config={json.dumps(SYSTEM)}")
            self.join()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception):
        for host in list(self.nodes):
            self.end(host)

    def join(self, **changes):
        """Start the second node, unless it is there."""
        if OTHER not in self.nodes:
            self.start(OTHER, f"--address={self.address}", **changes)

    def start(self, host, *flags, **changes):
        """Start a node and wait until it runs."""
        log = self.folder / f"{host}-{time.monotonic_ns()}.log"
        shared = ("--num-cpus=1", "--disable-usage-stats", f"--object-store-memory={STORE}", "--block")
        command = [*RAY, f"--node-ip-address={host}", *shared, *flags]
        with log.open("wb") as output:
            options = {"stdout": output, "stderr": output, "env": self.variables | changes}
            self.nodes[host] = subprocess.Popen(command, start_new_session=True, **options)
        deadline = time.monotonic() + PATIENCE
        while b"Ray runtime started" not in log.read_bytes():
            if self.nodes[host].poll() is not None or time.monotonic() > deadline:
                raise NoNodeError(f"the node {host} does not start:\n{log.read_text()}")
            time.sleep(0.1)

    def members(self, host):
        """Yield number and command of each process of a node."""
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                session = folder.joinpath("stat").read_bytes().rpartition(b")")[2].split()[3]
                if int(session) == self.nodes[host].pid:
                    yield int(folder.name), folder.joinpath("cmdline").read_bytes()

    def end(self, host):
        """End every process of a node, if there is one."""
        if host not in self.nodes:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            for member, _ in list(self.members(host)):
                with suppress(ProcessLookupError):
                    os.kill(member, number)
            with suppress(subprocess.TimeoutExpired):
                self.nodes[host].wait(10)
        del self.nodes[host]

    def run_and_kill(self, *words, after):
        """Run a command, kill the second node so long after its first shard; say also whether it was in the middle."""
        process = start(*words, **self.pipes)
        while process.poll() is None and not any(WORKER in command for _, command in self.members(OTHER)):
            time.sleep(0.01)
        with suppress(subprocess.TimeoutExpired):
            process.wait(after)
        is_in_the_middle = process.poll() is None
        if is_in_the_middle:  # the workers of a raylet go with it
            (raylet,) = (number for number, command in self.members(OTHER) if b"raylet/raylet\0" in command)
            os.kill(raylet, signal.SIGKILL)
        ended = self.ended(process)
        self.end(OTHER)
        return *ended, is_in_the_middle

    @staticmethod
    def ended(process):
        """Return exit code, stdout and stderr of a process, which is killed where it takes too long."""
        try:
            out, err = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            err += f"it took more than {LONGEST:g} s"
        return process.returncode, out, err


def free_port():
    """Return a port at which nobody listens."""
    with socket.create_server((HOST, 0)) as free:
        return free.getsockname()[1]


def same_bytes(what, cluster):
    """Return whether a command writes the same on both nodes, one of which is killed, as without a cluster."""
    words, here, there = COMMANDS[what], Path("here", what), Path("there", what)  # a run is called as its directory
    begin = time.monotonic()
    code, out, err = cluster.ended(start(*words, "-o", f"{here}/", **cluster.pipes))
    seconds = time.monotonic() - begin
    expected, is_killed = (out, files_without_times(here)), False
    on_ray = ("--overwrite", "--engine", "ray", "--address", cluster.address, "--workers", 2)
    for tried in range(TRIES):
        if code != 0 or is_killed:
            break
        cluster.join()
        begin = time.monotonic()
        after = seconds / 3 * (1 - tried / (TRIES - 1))
        code, out, err, is_killed = cluster.run_and_kill(*words, "-o", f"{there}/", *on_ray, after=after)
    is_same = code == 0 and len(expected[1]) > 1 and (out, files_without_times(there)) == expected
    death = "killed with -9" if is_killed else f"NOT killed: it ended too soon, {TRIES} times; give more --traces"
    times = f"{seconds:.1f} s here, {time.monotonic() - begin:.1f} s on two nodes, one {death}"
    print(f"{what}: {'the same bytes' if is_same else f'NOT AS HERE, exit {code}: {err}'}; {times}", flush=True)
    return is_same


def other_version(cluster):
    """Return whether a node with another code of ltr is refused in one line."""
    cluster.end(OTHER)
    shutil.copytree(ROOT / "ltr", "other/ltr")
    with Path("other/ltr/errors.py").open("a") as file:
        file.write("# another version\n")
    cluster.join(PYTHONPATH=str(cluster.folder / "other"))
    is_refused = refused("a node with another version of ltr", cluster, cluster.address, f"the node {OTHER} has ltr ")
    cluster.end(OTHER)
    return is_refused


def no_cluster(cluster):
    """Return whether nothing at the address is one line."""
    address = f"{HOST}:{free_port()}"
    return refused("no cluster at the address", cluster, address, f"no Ray cluster at {address}")


def refused(title, cluster, address, says):
    """Return whether a command is refused in one line that says so, and writes nothing."""
    done = run(*REFUSED.split(), address, env=cluster.variables)
    is_good = (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1) and says in done.stderr
    print(f"{title}: {'one line' if is_good else f'NOT ONE LINE: {done}'}", flush=True)
    return is_good and not Path("refused").exists()
