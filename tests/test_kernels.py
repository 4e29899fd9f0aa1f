"""The compiled passes against numpy, and when they are loaded."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from ltr import TrainConfig, fit
from ltr.signals import deferring
from ltr.training import groups as compiled
from ltr.training import objective
from ltr.training.descent import epoch_pass
from ltr.training.designs import trainable
from ltr.training.geometry import deviations, largest_steps
from ltr.training.objective import derivatives, slope
from tests.oracles import naive_descent, random_groups

FAST = "from ltr.training import is_loaded;from tests.oracles import random_groups; import ltr, numpy as np;"


class Passes:
    """The compiled passes, and the number of features they are for."""

    def __init__(self, kernels, features):
        self.epoch, self.derivatives, self.steps = kernels.epoch, kernels.derivatives, kernels.steps
        self.features = features


WEIGHTS = np.array([1.0, -0.4, 2.0, 0.7, -1.1, 0.3])


@pytest.fixture(scope="module", params=[3, 6], ids=["few features", "many features"])
def made(request, tmp_path_factory):
    pytest.importorskip("numba", reason="the extra fast is not installed")
    cache = tmp_path_factory.mktemp("cache")
    before = os.environ.get("LTR_CACHE_DIR")
    os.environ["LTR_CACHE_DIR"] = str(cache)
    from ltr.training.groups import kernels

    kernels.cache_clear()  # made with the cache of another test
    yield Passes(kernels(request.param), request.param)
    assert list((cache / "numba").rglob("*.nbi")), "the next process finds no machine code"
    os.environ.pop("LTR_CACHE_DIR") if before is None else os.environ.update(LTR_CACHE_DIR=before)


def groups_of(seed, features, *, groups=300, **options):
    drawn = np.random.default_rng(seed)
    phi, labels, offsets = random_groups(drawn, groups, features=features, sizes=(2, 30), **options)
    labels[offsets[:-1]] = 1
    weights = np.random.default_rng(seed).uniform(0.1, 3, groups)
    return trainable(phi, labels, offsets, weights=weights)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("size", [0.0, 1.0, 50.0, 1e6, 1e290])
def test_compiled_derivatives_are_those_of_numpy(made, seed, size):
    groups = groups_of(seed, made.features, grades=3, groups=1 if seed == 0 else 300)
    w, scale = WEIGHTS[: made.features] * size, np.array([1.0, 0.3, 7.0] * 2)[: made.features]
    ours = made.derivatives(w, groups.phi, groups.offsets, groups.weights, groups.shares, groups.score_offset, scale)
    theirs = derivatives(groups, w, scale)
    for found, expected in zip(ours, (theirs.loss, theirs.gradient, theirs.hessian), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_compiled_deviations_are_those_of_numpy(made, scale):
    groups = groups_of(7, made.features)
    groups = trainable(groups.phi * scale, np.ones(len(groups.phi)), groups.offsets)
    units = np.ldexp(1.0, np.frexp(made.steps(groups.phi, groups.offsets))[1])
    sizes = np.diff(groups.offsets).astype(float)
    squares = np.diag(
        made.derivatives(np.zeros(made.features), groups.phi, groups.offsets, sizes, groups.shares, np.empty(0), units)[
            2
        ]
    )
    found = units * np.sqrt(squares / len(groups.phi))
    np.testing.assert_allclose(found, deviations(groups, largest_steps(groups)), rtol=1e-13)


def test_the_input_of_a_compiled_pass_may_be_read_only_and_is_left_alone(made):
    groups = groups_of(1, made.features)
    w = np.ones(made.features)
    for array in (w, groups.phi, groups.offsets, groups.weights, groups.shares):
        array.setflags(write=False)
    loss, after = made.epoch(
        w, groups.phi, groups.offsets, groups.weights, groups.shares, groups.score_offset, 0.01, 0.001
    )
    assert np.isfinite(loss)
    assert (w == 1).all()
    assert (after != 1).any()


@pytest.mark.parametrize("size", [1.0, 1e3, 1e9])
def test_a_compiled_epoch_is_that_of_the_naive_loop_however_large_the_scores(made, size):
    phi, labels, offsets = random_groups(np.random.default_rng(9), 200, features=made.features, sizes=(2, 30))
    labels[offsets[:-1]] = 1
    groups = trainable(phi * size, labels, offsets)
    given = (groups.phi, groups.offsets, groups.weights, groups.shares, groups.score_offset, 0.01, 0.001)
    loss, w = made.epoch(np.ones(made.features), *given)
    options = {"learning_rate": 0.01, "epochs": 1, "l2": 0.001}
    expected, history = naive_descent(phi * size, labels, offsets, **options)
    np.testing.assert_allclose(w, expected, rtol=1e-12, atol=1e-12)
    assert size > 1 or abs(loss - history[0]) < 1e-10


def test_compiled_descent_gives_the_w_of_the_naive_loop():
    pytest.importorskip("numba", reason="the extra fast is not installed")
    phi, labels, offsets = random_groups(np.random.default_rng(3), 2000, features=4, sizes=(1, 12))
    assert compiled.STEPS <= 50 * 2000  # some groups do not train: 60 epochs
    model = fit(phi, labels, offsets, TrainConfig(epochs=90))
    assert compiled.is_loaded()
    w, history = naive_descent(phi, labels, offsets, learning_rate=0.01, epochs=90, l2=0.001)
    np.testing.assert_allclose(model.w, w, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.training.history, history, rtol=0, atol=1e-10)


def test_the_gradient_alone_of_a_compiled_pass_is_that_of_numpy(made, monkeypatch):
    groups, w, scale = groups_of(3, made.features), WEIGHTS[: made.features], np.ones(made.features)
    by_numpy = slope(groups, w, scale)
    monkeypatch.setattr(objective, "for_passes", lambda *_, **__: made)
    found = slope(groups, w, scale)
    assert found.loss == pytest.approx(by_numpy.loss, rel=1e-12)
    np.testing.assert_allclose(found.gradient, by_numpy.gradient, rtol=1e-12, atol=1e-12)


def output(code):
    """What a Python of its own prints."""
    return subprocess.run([sys.executable, "-c", FAST + code], capture_output=True, text=True, check=True).stdout


def test_small_work_does_not_load_numba():
    code = "data = random_groups(np.random.default_rng(0), 500); ltr.fit(*data); print(is_loaded())"
    assert output(code) == "False\n"


def test_newton_of_millions_of_numbers_finds_the_same_w_with_numba_and_without():
    pytest.importorskip("numba", reason="the extra fast is not installed")
    code = (
        "data = random_groups(np.random.default_rng(0), 140_000, features=10, sizes=(2, 8));"
        "model = ltr.fit(*data, ltr.TrainConfig(trainer='newton'));"
        "print(is_loaded(), model.training.optimum, *model.w.tolist())"
    )
    (fast, *ours), (slow, *theirs) = (
        output(code).split(),
        output("import sys; sys.modules['numba'] = None;" + code).split(),
    )
    assert (fast, slow, ours[0], theirs[0]) == ("True", "False", "found", "found")
    np.testing.assert_allclose([float(x) for x in ours[1:]], [float(x) for x in theirs[1:]], rtol=0, atol=1e-12)


def test_a_cache_that_others_can_write_to_is_not_used(tmp_path):
    pytest.importorskip("numba", reason="the extra fast is not installed")
    shared = tmp_path / "numba"
    shared.mkdir()
    shared.chmod(0o777)
    code = "from ltr.training.kernels import private; from pathlib import Path; import sys;"
    code += "print(private(Path(sys.argv[1])))"
    found = subprocess.run([sys.executable, "-c", code, str(shared)], capture_output=True, text=True, check=True).stdout
    assert found == "None\n"


@pytest.mark.parametrize("damage", [b"", b"garbage"])
def test_a_damaged_cache_does_not_stop_the_training(tmp_path, damage):
    pytest.importorskip("numba", reason="the extra fast is not installed")
    code = "from ltr.training.kernels import steps_of; steps_of(2); print('compiled')"
    given = {"env": {**os.environ, "LTR_CACHE_DIR": str(tmp_path)}, "capture_output": True, "text": True}
    subprocess.run([sys.executable, "-c", code], check=True, **given)
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert kept
    for path in kept:
        path.write_bytes(damage)
    assert subprocess.run([sys.executable, "-c", code], check=True, **given).stdout == "compiled\n"


def test_machine_code_with_a_flipped_bit_is_not_run_but_made_again(tmp_path):
    pytest.importorskip("numba", reason="the extra fast is not installed")
    code = "from ltr.training.kernels import steps_of; print(steps_of(2).stats.cache_hits.total())"
    given = {"env": {**os.environ, "LTR_CACHE_DIR": str(tmp_path)}, "capture_output": True, "text": True}

    def hits():
        return int(subprocess.run([sys.executable, "-c", code], check=True, **given).stdout)

    assert (hits(), hits()) == (0, 1)
    (path,) = tmp_path.rglob("*.nbc")
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    assert (hits(), hits()) == (0, 1)
    assert path.read_bytes() != damaged


def test_passes_for_two_numbers_of_features_are_loaded_together_from_the_cache(tmp_path):
    pytest.importorskip("numba", reason="the extra fast is not installed")
    both = "three = steps_of(3); four = steps_of(4);"
    call = "print(four(np.eye(4), np.array([0, 4])), three(2 * np.eye(3), np.array([0, 3])))"
    options = {"env": {**os.environ, "LTR_CACHE_DIR": str(tmp_path)}, "capture_output": True, "text": True}

    def printed(code):
        """What a Python of its own prints."""
        imports = "import numpy as np; from ltr.training.kernels import steps_of;"
        return subprocess.run([sys.executable, "-c", imports + code], check=True, **options).stdout

    assert printed("steps_of(3)") == ""  # the first that this process compiles
    assert printed(both) == ""  # one is loaded, the other the first that this process compiles
    assert printed(both + call) == "[1. 1. 1. 1.] [2. 2. 2.]\n"  # both are loaded


def test_another_version_or_another_file_of_the_kernels_is_another_cache():
    pytest.importorskip("numba", reason="the extra fast is not installed")
    from ltr.training.kernels import kernel_cache_key

    sources = {"narrow.py": b"a", "wide.py": b"b"}
    keys = [
        kernel_cache_key(sources, "1.0"),
        kernel_cache_key(sources, "1.1"),
        kernel_cache_key({**sources, "wide.py": b"c"}, "1.0"),
    ]
    keys.append(kernel_cache_key({"narrow.py": b"ab", "wide.py": b""}, "1.0"))
    assert len(set(keys)) == len(keys)
    assert kernel_cache_key(sources, "1.0") == keys[0]


def test_a_signal_that_arrives_inside_a_compiled_pass_runs_its_handler_after_it():
    events = []

    def work(value):
        signal.raise_signal(signal.SIGTERM)
        events.append("the pass ended")
        return value

    before = signal.signal(signal.SIGTERM, lambda *_: events.append("the handler ran"))
    try:
        assert deferring(work)(3) == 3
        signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert events == ["the pass ended", "the handler ran", "the handler ran"]


def test_a_signal_that_arrives_while_a_pass_is_compiled_is_not_dropped(monkeypatch):
    def compile_at_once(*signature, **options):
        return signalled

    def signalled(function):
        signal.raise_signal(signal.SIGTERM)
        events.append("compiled")
        return function

    compiling = pytest.importorskip("ltr.training.kernels")
    monkeypatch.setattr(compiling.numba, "njit", compile_at_once)
    monkeypatch.setattr(compiling, "private", lambda directory: None)
    events = []
    before = signal.signal(signal.SIGTERM, lambda *_: events.append("the handler ran"))
    try:
        compiling.compiled(lambda row: row, 1, set(), ())
    finally:
        signal.signal(signal.SIGTERM, before)
    assert events == ["compiled", "the handler ran"]


def test_a_signal_that_arrives_inside_a_compiled_pass_ends_the_work_behind_it():
    def work():
        signal.raise_signal(signal.SIGINT)
        return 3

    with pytest.raises(KeyboardInterrupt):
        deferring(work)()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_pass_outside_the_main_thread_leaves_the_handlers_alone():
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(deferring(signal.getsignal), signal.SIGINT).result() is signal.getsignal(signal.SIGINT)


@pytest.mark.parametrize("size", [1.0, 50.0, 1e6])
def test_compiled_passes_add_the_score_offset_as_numpy_does(monkeypatch, size):
    pytest.importorskip("numba", reason="the extra fast is not installed")
    groups = groups_of(4, 3, groups=200)
    drawn = -np.log(np.random.default_rng(1).uniform(0.001, 1, len(groups.phi)))
    groups = replace(groups, score_offset=drawn)
    w, scale, arrays = WEIGHTS[:3] * size, np.array([1.0, 0.3, 7.0]), (groups.phi, groups.offsets, groups.weights)
    passes = compiled.kernels(3)
    found = passes.derivatives(w, *arrays, groups.shares, groups.score_offset, scale)
    expected = derivatives(groups, w, scale)
    for ours, theirs in zip(found, (expected.loss, expected.gradient, expected.hessian), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    config = TrainConfig(epochs=1)
    loss, after = passes.epoch(w, *arrays, groups.shares, groups.score_offset, config.learning_rate, config.penalty)
    monkeypatch.setattr(compiled, "STEPS", 10**9)
    expected_loss, expected_w = epoch_pass(groups, config)(w)
    np.testing.assert_allclose(after, expected_w, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(loss, expected_loss, rtol=1e-12)
