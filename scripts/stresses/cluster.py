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
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from environment import ready
from stresses.cases import Figure
from stresses.killing import files_without_times
from subcommands import ROOT, at_least
from tests.made import tool_rows, written

HOST, OTHER = "127.0.0.1", "127.0.0.2"
STORE = 150_000_000  # bytes of each object store
PATIENCE = 60.0  # seconds for a node to come up
LONGEST = 300.0  # seconds of a command
TRIES = 3  # to kill a node in the middle: a quick command may end before
RAY = [sys.executable, "-c", "from ray.scripts.scripts import main; main()"]
SYSTEM = {"health_check_period_ms": 1000, "health_check_initial_delay_ms": 1000}  # a lost node is missed soon
SYSTEM |= {"worker_niceness": 0}  # Ray's workers wait for all others: on a busy machine that takes minutes
WORKER = b"ray::_Worker"  # how the process of a worker is named, once the first shards are given out


def options(parser):
    """Options of the command line."""
    parser.add_argument("--traces", type=at_least(20), default=800, help="of the samples (default: %(default)s)")


def main(*, traces):
    """A line a command; then how many wrote what they should."""
    if not sys.platform.startswith("linux"):
        return skipped("it finds processes under /proc, which only Linux has")
    if not has_ray():
        return skipped("the package ray is not installed and cannot be fetched")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # no node outlives this
    try:
        with tempfile.TemporaryDirectory(prefix="ltr") as folder, Cluster(Path(folder)) as cluster:
            samples = write_samples(Path(folder), traces)
            failures = [name for name, check in CHECKS.items() if not check(cluster, Path(folder), samples)]
    except NoNodeError as error:
        return skipped(str(error))
    return Figure(f"{len(CHECKS) - len(failures)} of {len(CHECKS)} as wanted", not failures)


def skipped(why):
    """Say aloud that nothing was tested."""
    return Figure(f"SKIPPED: scripts/stress cluster tested nothing: {why}", is_good=True)


def has_ray():
    """Whether ray can be imported, fetched if need be."""
    if find_spec("ray") is None:
        with suppress(SystemExit):
            ready("ray")
        importlib.invalidate_caches()
    return find_spec("ray") is not None


class NoNodeError(Exception):
    """Ray itself does not start here."""


class Cluster:
    """Two nodes, each a `ray start` in a session of its own, whose processes are ended by their numbers."""

    def __init__(self, folder):
        self.folder = folder
        token = folder / "token"
        token.write_text(secrets.token_hex(16))
        self.environment = os.environ | {
            "PYTHONPATH": str(ROOT),
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(token),
            "LTR_CACHE_DIR": str(folder / "cache"),
        }
        self.nodes = {}
        with socket.create_server((HOST, 0)) as free:
            self.address = f"{HOST}:{free.getsockname()[1]}"

    def __enter__(self):
        try:
            port = self.address.partition(":")[2]
            flags = (f"--port={port}", "--include-dashboard=false", f"--temp-dir={self.folder}/r")
            self._start(HOST, "--head", *flags, f"--system-config={json.dumps(SYSTEM)}")
            self.join()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception):
        for host in list(self.nodes):
            self.end(host)

    def join(self, **environment):
        """Start the second node, unless it is there."""
        if OTHER not in self.nodes:
            self._start(OTHER, f"--address={self.address}", **environment)

    def _start(self, host, *flags, **environment):
        log = self.folder / f"{host}-{time.monotonic_ns()}.log"
        shared = ("--num-cpus=1", "--disable-usage-stats", f"--object-store-memory={STORE}", "--block")
        command = [*RAY, "start", f"--node-ip-address={host}", *shared, *flags]
        with log.open("wb") as output:
            options = {"stdout": output, "stderr": output, "env": self.environment | environment}
            self.nodes[host] = subprocess.Popen(command, start_new_session=True, **options)
        deadline = time.monotonic() + PATIENCE
        while b"Ray runtime started" not in log.read_bytes():
            if self.nodes[host].poll() is not None or time.monotonic() > deadline:
                raise NoNodeError(f"the node {host} does not start:\n{log.read_text()}")
            time.sleep(0.1)

    def members(self, host):
        """Number and command of each process of a node."""
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                session = folder.joinpath("stat").read_bytes().rpartition(b")")[2].split()[3]
                if int(session) == self.nodes[host].pid:
                    yield int(folder.name), folder.joinpath("cmdline").read_bytes()

    def kill(self, host):
        """Kill the raylet of a node with -9; its workers go with it."""
        (raylet,) = (number for number, command in self.members(host) if b"raylet/raylet\0" in command)
        os.kill(raylet, signal.SIGKILL)

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

    def ltr(self, *words):
        """A command of this checkout, as a process."""
        command = [sys.executable, "-m", "ltr", *map(str, words)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=self.folder, env=self.environment, text=True, **pipes)

    def run(self, *words):
        """Exit code, stdout and stderr of a command."""
        return ended(self.ltr(*words))

    def run_and_kill(self, *words, after):
        """The same of one during which the second node is killed, so long after its first shard; and whether it was."""
        process = self.ltr(*words)
        while process.poll() is None and not any(WORKER in command for _, command in self.members(OTHER)):
            time.sleep(0.01)
        with suppress(subprocess.TimeoutExpired):
            process.wait(after)
        is_in_the_middle = process.poll() is None
        if is_in_the_middle:
            self.kill(OTHER)
        code, out, err = ended(process)
        self.end(OTHER)
        return code, out, err, is_in_the_middle


def ended(process):
    """Exit code, stdout and stderr of a process, which is killed where it takes too long."""
    try:
        out, err = process.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        err += f"it took more than {LONGEST:g} s"
    return process.returncode, out, err


def write_samples(folder, traces):
    """Samples of tools in a file."""
    return written(folder / "samples.jsonl", tool_rows(range(traces)))


def same_bytes(what, cluster, folder, *words):
    """Whether a command writes the same on both nodes, one of which is killed, as without a cluster."""
    here, there = folder / "here" / what, folder / "there" / what  # a run is called as its directory
    start = time.monotonic()
    code, out, err = cluster.run(*words, "-o", f"{here}/")
    seconds = time.monotonic() - start
    expected, is_killed = (out, files_without_times(here)), False
    on_ray = ("--engine", "ray", "--address", cluster.address, "--workers", 2)
    for tried in range(TRIES):
        if code != 0 or is_killed:
            break
        cluster.join()
        start = time.monotonic()
        after = seconds / 3 * (1 - tried / (TRIES - 1))
        code, out, err, is_killed = cluster.run_and_kill(*words, "-o", f"{there}/", "--overwrite", *on_ray, after=after)
    is_same = code == 0 and len(expected[1]) > 1 and (out, files_without_times(there)) == expected
    death = "killed with -9" if is_killed else f"NOT killed: it ended too soon, {TRIES} times; give more --traces"
    times = f"{seconds:.1f} s here, {time.monotonic() - start:.1f} s on two nodes, one {death}"
    print(f"{what}: {'the same bytes' if is_same else f'NOT AS HERE, exit {code}: {err}'}; {times}", flush=True)
    for home in (here, there):
        shutil.rmtree(home, ignore_errors=True)
    return is_same


FEATURIZE = ("--features", "tool.rel,tool.hist,tool.lift,tool.clause_char", "--encoder", "hash", "--shard-rows", 500)


def featurize(cluster, folder, samples):
    """Columns of samples, cross-fitted in folds by trace."""
    return same_bytes("featurize", cluster, folder, "featurize", samples, *FEATURIZE, "-q")


def newton(cluster, folder, samples):
    """Weights with their proof, diagnosis and metrics."""
    words = ("train", columns(cluster, folder, samples), "--trainer", "newton", "--set", "train.knots=3", "-q")
    return same_bytes("newton", cluster, folder, *words)


def folds(cluster, folder, samples):
    """One of several l2 chosen by folds, each of which learns its columns anew."""
    settings = ("--set", "train.folds=2", "--set", "train.l2=[0.01, 1.0]")
    words = ("train", columns(cluster, folder, samples), "--trainer", "newton", *settings, "-q")
    return same_bytes("folds", cluster, folder, *words)


def columns(cluster, folder, samples):
    """A directory of columns of the samples, made without a cluster at the first call."""
    directory = folder / "columns"
    if not directory.exists():
        code, _, err = cluster.run("featurize", samples, "-o", f"{directory}/", *FEATURIZE, "-q")
        if code:
            raise SystemExit(f"the columns to learn from cannot be made: {err}")
    return f"{directory}/"


def other_version(cluster, folder, samples):
    """A node with another code of ltr is refused in one line."""
    cluster.end(OTHER)
    shutil.copytree(ROOT / "ltr", folder / "other" / "ltr")
    with (folder / "other" / "ltr" / "errors.py").open("a") as file:
        file.write("# another version\n")
    cluster.join(PYTHONPATH=str(folder / "other"))
    words = ("featurize", samples, "-o", "refused/", "--features", "tool.hist", "--engine", "ray")
    code, out, err = cluster.run(*words, "--address", cluster.address, "-q")
    is_good = (code, out) == (2, "") and err.count("\n") == 1 and f"the node {OTHER} has ltr " in err
    is_good = is_good and not (folder / "refused").exists()
    print(f"a node with another version of ltr: {'refused' if is_good else f'NOT REFUSED: {code} {out} {err}'}")
    cluster.end(OTHER)
    return is_good


def no_cluster(cluster, folder, samples):
    """Nothing at the address is one line."""
    with socket.create_server((HOST, 0)) as free:
        address = f"{HOST}:{free.getsockname()[1]}"
    words = ("featurize", samples, "-o", "refused/", "--features", "tool.hist", "--engine", "ray")
    code, out, err = cluster.run(*words, "--address", address, "-q")
    is_good = (code, out) == (2, "") and err.count("\n") == 1 and f"no Ray cluster at {address}" in err
    print(f"no cluster at the address: {'one line' if is_good else f'NOT ONE LINE: {code} {out} {err}'}")
    return is_good


CHECKS = {
    "no cluster": no_cluster,
    "featurize": featurize,
    "newton": newton,
    "folds": folds,
    "other version": other_version,
}
