"""What plug-ins of strangers do wrong is one line that names them, and what they print is no result."""

import json
from pathlib import Path

import pytest

from ltr.encoders import ENCODERS
from ltr.errors import UsageError
from ltr.evaluation import MEASURES
from ltr.features import FEATURES
from ltr.importers import IMPORTERS
from ltr.plugins import load_code
from ltr.training import TRAINERS
from tests.made import tool_rows, written

FEATURE = """
import numpy as np
from ltr import feature
def fit(groups, context):
    return {state}
@feature("{name}", "{family}", fit=fit)
def column(candidates, state, context):
    return {value}
"""
ENCODER = """
import numpy as np
from ltr.encoders import Dense
from ltr.encoders import ENCODERS
class Stranger:
    name, revision, state = "stranger", "1", {{}}
    @classmethod
    def is_installed(cls):
        return True
    @classmethod
    def fitted(cls, texts):
        return {made}
    def identity(self, role):
        return None
    def encode(self, texts, role):
        return {rows}
ENCODERS.add("stranger", Stranger)
"""
METRIC = """
from ltr.evaluation import Drawn, Measure, Pooled, measure
from ltr.evaluation import ByQuery
import numpy as np
@measure("own", "own", kind={kind})
def own({arguments}):
    return {value}
"""
RANKED, CLASSIFIED = {"kind": "Measure", "arguments": "blocks, k"}, {"arguments": "candidates"}
IMPORTER = """
from ltr.importers import Imported, importer
@importer("own")
def own(files):
    return {value}
def lines(value):
    yield {{"query": "q"}}
    yield value()
"""
TRAINER = """
import numpy as np
from ltr.training import Fitted
from ltr.training import TRAINERS
@TRAINERS.register("own")
def own(groups, geometry, config, on_epoch):
    print("noise")
    return {value}
"""
GOOD = {"name": "tool.own", "family": "rel", "state": "{}", "value": "np.zeros(len(candidates.names))"}
SOUND = {"made": "cls()", "rows": "Dense(np.ones((len(texts), 2)))"}


@pytest.fixture
def own(cli):
    """Runs with a plug-in of a file."""
    written("s.jsonl", tool_rows(range(25)))

    def trained(code, *arguments):
        Path("own.py").write_text(code, encoding="utf-8")
        exit_code = cli.run("train", "s.jsonl", "-o", "run", "-q", "--code", "own.py", *arguments)
        return exit_code, cli.err

    yield trained
    FEATURES._own.pop("tool.own", None)
    for registry, name in ((ENCODERS, "stranger"), (MEASURES, "own"), (IMPORTERS, "own"), (TRAINERS, "own")):
        registry._own.pop(name, None)


@pytest.mark.parametrize(
    "change, code, told",
    [
        ({"value": "1 / 0"}, 1, "own.py:8: the feature tool.own failed: ZeroDivisionError: division by zero"),
        ({"state": "groups.nothing"}, 1, "own.py:5: the feature tool.own failed: AttributeError: "),
        ({"value": "exit(0)"}, 1, "own.py:8: the feature tool.own failed: SystemExit: 0"),
        ({"value": "exit(255)"}, 1, "own.py:8: the feature tool.own failed: SystemExit: 255"),
        ({"value": "exit(143)"}, 1, "own.py:8: the feature tool.own failed: SystemExit: 143"),
        ({"value": "[1.0]"}, 3, "own.py: the feature tool.own did not give one finite number for each of "),
        (
            {"value": "np.array(['a'] * len(candidates.names))"},
            3,
            "own.py: the feature tool.own did not give one finite ",
        ),
        (
            {"value": "np.zeros(len(candidates.names), dtype=complex)"},
            3,
            "own.py: the feature tool.own did not give one ",
        ),
        ({"state": "{'a': {'b': object()}}"}, 3, "the feature tool.own: its fit gave object at state.a.b; a dict of"),
        ({"state": "{'a': (1, 2)}"}, 3, "the feature tool.own: its fit gave tuple at state.a; "),
        ({"state": "{'a': float('nan')}"}, 3, "the feature tool.own: its fit gave float at state.a; "),
        ({"state": "{'a': [np.ones(2)]}"}, 3, "the feature tool.own: its fit gave an array of float64 at state.a[0]; "),
        ({"state": "{'a': np.array(['x'])}"}, 3, "the feature tool.own: its fit gave an array of <U1 at state.a; "),
        ({"state": "{1: 2}"}, 3, "the feature tool.own: its fit gave dict at state; "),
        ({"state": "[1.0, 2.0]"}, 3, "the feature tool.own: its fit gave list at state; "),
        ({"state": "2.5"}, 3, "the feature tool.own: its fit gave float at state; "),
        ({"state": "None"}, 3, "the feature tool.own: its fit gave NoneType at state; "),
        ({"state": "'text'"}, 3, "the feature tool.own: its fit gave str at state; "),
        ({"name": "own"}, 2, "own.py:6: cannot be loaded: feature 'own': a name such as tool.own or graph.own"),
        ({"family": "relevance"}, 2, "own.py:6: cannot be loaded: feature tool.own: family 'relevance'; one of rel, "),
    ],
)
def test_a_feature_that_fails_is_named(own, change, code, told):
    exit_code, err = own(FEATURE.format(**GOOD | change), "--set", "features=[tool.rel, tool.own]")
    assert exit_code == code
    assert err.startswith(f"error: {told}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("state", ["{}", "np.array([1.0, 2.0])", "np.array(2)"])
def test_a_run_whose_feature_learned_a_dict_or_one_array_is_loaded_and_ranks(own, cli, state):
    value = f"np.full(len(candidates.names), 1.0 if np.array_equal(state, {state}) else np.nan)"
    code = FEATURE.format(**GOOD | {"state": state, "value": value})
    assert own(code, "--set", "features=[tool.rel, tool.own]") == (0, "")
    assert "get_" in cli.good("rank", "run", "weather")


SHARED = """
from ltr import feature
def shared(candidates, context):
    return {value}
@feature("tool.own", "rel")
def column(candidates, state, context):
    return context.shared(shared, candidates)
"""


@pytest.mark.parametrize(
    "value, cause", [("exit(0)", "SystemExit: 0"), ("1 / 0", "ZeroDivisionError: division by zero")]
)
def test_a_function_that_features_share_and_that_fails_is_named(own, value, cause):
    failed = own(SHARED.format(value=value), "--set", "features=[tool.rel, tool.own]")
    assert failed == (1, f"error: own.py:4: the feature tool.own failed: {cause}\n")


WRITES = "the feature tool.own failed: ValueError: it writes to an array that it was given; it may write to a copy"


@pytest.mark.parametrize(
    "change, line",
    [
        ({"value": "candidates.names.sort()"}, 8),
        ({"value": "np.add(candidates.offsets, 1, out=candidates.offsets)"}, 8),
        ({"state": "groups.labels.fill(0)"}, 5),
        ({"state": "{'a': np.ones(2)}", "value": "state['a'].__setitem__(0, 2)"}, 8),
    ],
)
def test_a_feature_that_writes_to_what_it_is_given_is_told_so(own, change, line):
    told = own(FEATURE.format(**GOOD | change), "--set", "features=[tool.own, tool.rel]")
    assert told == (1, f"error: own.py:{line}: {WRITES}\n")


@pytest.mark.parametrize("value", ["np.arange(len(candidates.names))", "candidates.names > 2"])
def test_a_feature_may_give_any_numbers(own, value):
    assert own(FEATURE.format(**GOOD | {"value": value}), "--set", "features=[tool.rel, tool.own]") == (0, "")


@pytest.mark.parametrize(
    "change, code, told",
    [
        ({"made": "1 / 0"}, 1, "own.py:12: the encoder stranger failed: ZeroDivisionError: division by zero"),
        ({"rows": "1 / 0"}, 1, "own.py:16: the encoder stranger failed: ZeroDivisionError: division by zero"),
        ({"rows": "None"}, 3, "the encoder stranger did not give a row of finite numbers for each of "),
        ({"rows": "np.ones((len(texts), 2))"}, 3, "the encoder stranger did not give a row of finite numbers for"),
        ({"rows": "Dense(np.ones((len(texts) + 1, 2)))"}, 3, "the encoder stranger did not give a row of finite"),
        ({"rows": "Dense(np.full((len(texts), 2), np.nan))"}, 3, "the encoder stranger did not give a row of finite"),
    ],
)
def test_an_encoder_that_fails_is_named(own, change, code, told):
    exit_code, err = own(ENCODER.format(**SOUND | change), "--encoder", "stranger")
    assert exit_code == code
    assert err.startswith(f"error: {told}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "change, told",
    [
        (RANKED | {"value": "1 / 0"}, ":7: metric 'own' failed: ZeroDivisionError: division by zero"),
        (RANKED | {"value": "[[1], [1, 2]]"}, "metric 'own' failed: ValueError: "),
        (RANKED | {"value": "'x'"}, ": metric 'own': one finite number a query is needed (50,), found shape () of <U1"),
        (RANKED | {"value": "np.full(50, np.nan)"}, ": metric 'own': one finite number a query is needed (50,), found"),
        ({"kind": "ByQuery", "value": "np.ones(3)"}, ": metric 'own': a number, or NaN, of each query that counts is"),
        ({"kind": "ByQuery", "value": "None.x"}, ":7: metric 'own' failed: AttributeError: "),
        ({"kind": "Pooled", "value": "1 / 0"}, ":7: metric 'own' failed: ZeroDivisionError: "),
        ({"kind": "Pooled", "value": "[1.0]"}, ": metric 'own': a finite number, None, or a dict of them is needed, "),
        ({"kind": "Pooled", "value": "{'a': float('nan')}"}, "a finite number, None, or a dict of them is needed, "),
        ({"kind": "Drawn", "value": "1 / 0"}, ":7: metric 'own' failed: ZeroDivisionError: "),
        ({"kind": "Drawn", "value": "[1.0]"}, ": metric 'own': a dict of columns of finite numbers, all of one length"),
        ({"kind": "Drawn", "value": "{'a': [1], 'b': []}"}, ": metric 'own': a dict of columns of finite numbers, all"),
    ],
)
def test_a_metric_that_fails_is_named_with_its_file(own, change, told):
    exit_code, err = own(METRIC.format(**CLASSIFIED | change), "--metrics", "own")
    assert exit_code == 1
    assert err.startswith("error: own.py:")
    assert told in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "value, told",
    [
        ("1 / 0", "own.py:8: trainer own failed: ZeroDivisionError: division by zero"),
        ("None", "own.py: trainer own: gave NoneType; a Fitted with a number for each column is needed"),
        ("Fitted(np.ones(9), np.ones(1), 1)", "own.py: trainer own: gave Fitted; a Fitted with a number for each"),
        ("Fitted(np.array(['a'] * 4), np.ones(1), 1)", "own.py: trainer own: gave Fitted; a Fitted with a number"),
        ("Fitted(np.ones(4), None, 1)", "own.py: trainer own: gave Fitted; a Fitted with a number for each column"),
    ],
)
def test_a_trainer_that_fails_is_named_with_its_file(own, value, told):
    exit_code, err = own(TRAINER.format(value=value), "--trainer", "own")
    assert (exit_code, err.splitlines()[0]) == (1, "noise")
    assert err.splitlines()[1].startswith(f"error: {told}")
    assert err.count("\n") == 2


def test_lists_are_numbers_of_a_trainer(own, cli):
    assert own(TRAINER.format(value="Fitted([1, 1, 1, 1], [0.5], 1)"), "--trainer", "own", "--format", "json")[0] == 0
    assert json.loads(cli.out)["num_queries"] == 50


def test_numbers_of_any_kind_are_a_metric(own, cli):
    value = "{'a': np.float32(0.5), 'b': np.int64(2), 'c': None}"
    assert own(METRIC.format(**CLASSIFIED, kind="Pooled", value=value), "--metrics", "own", "--format", "json") == (
        0,
        "",
    )
    assert '"own.a":0.5,"own.b":2,"own.c":null' in "".join(cli.out.split())


@pytest.mark.parametrize(
    "value, told",
    [
        ("1 / 0", "own.py:5: importer own failed: ZeroDivisionError: division by zero"),
        ("[{'query': 'q'}]", "own.py: importer own: gave list; Imported(lines, notes) is needed"),
        ("Imported(lines(lambda: 1 / 0))", "own.py:5: importer own failed: ZeroDivisionError: division by zero"),
        ("Imported(lines(object))", "own.py: importer own: gave a line of object; a mapping is needed"),
        ("Imported(lines(lambda: {'a': object()}))", "own.py: importer own failed: TypeError: Encoding objects of "),
        ("Imported(None)", "own.py: importer own failed: TypeError: 'NoneType' object is not iterable"),
    ],
)
def test_an_importer_that_fails_is_named_and_writes_nothing(own, cli, value, told):
    Path("own.py").write_text(IMPORTER.format(value=value), encoding="utf-8")
    load_code("own.py")
    assert cli.run("import", "own", "s.jsonl", "-o", "out.jsonl") == 1
    assert cli.err.startswith(f"error: {told}")
    assert cli.err.count("\n") == 1
    assert not Path("out.jsonl").exists()


def test_what_plug_ins_print_is_no_result(own, cli):
    said = "print('loaded')\n" + FEATURE.format(**GOOD | {"value": "print('noise') or np.zeros(len(candidates.names))"})
    features = ("--set", "features=[tool.rel, tool.own]")
    exit_code, err = own(said, *features, "--format", "json")
    assert exit_code == 0
    assert {*err.split()} == {"loaded", "noise"}
    assert json.loads(cli.out)["num_queries"] == 50


def test_what_is_no_function_is_no_feature(tmp_path):
    (tmp_path / "own.py").write_text("from ltr import feature\nfeature('tool.own', 'rel')(3)\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r":2: cannot be loaded: feature tool.own: 3 is not a function"):
        load_code(str(tmp_path / "own.py"))
