"""The audit: each thing that can be wrong with samples is found by its code, and nothing is found in clean ones."""

import gzip
import json

import numpy as np
import pytest

from ltr.audit.audit import audit_samples
from ltr.audit.chance_test import ChanceTest
from ltr.audit.leaks import id_words
from ltr.audit.overlap import grams, nearest_cosines
from ltr.audit.quick_check import quick_findings
from ltr.data.groups import read_groups
from ltr.features.crossfit import fit_features
from ltr.features.registry import FeatureConfig
from ltr.storage.feature_file import save_columns
from tests.builders import graph_lines, tool_lines, write_lines

CLEAN = {"tool": list(tool_lines(traces=40)), "graph": list(graph_lines(traces=60))}


def found(tmp_path, lines, **options):
    """The findings by code; the last of a code that comes several times."""
    report = audit_samples(str(write_lines(tmp_path / "s.jsonl", lines)), **options)
    return {finding.code: finding for finding in report.findings}


def changed(lines, **fields):
    """The lines with fields computed from them."""
    return [{**line, **{name: compute(line) for name, compute in fields.items()}} for line in lines]


def warnings(findings):
    return {code for code, finding in findings.items() if finding.severity != "info"}


@pytest.mark.parametrize("kind", CLEAN)
def test_clean_samples_give_no_error_and_no_warning(tmp_path, kind):
    assert warnings(found(tmp_path, CLEAN[kind])) <= {"no-text"}  # some of the graphs are empty


@pytest.mark.parametrize("seed", range(20))
def test_labels_by_lot_give_no_leak(tmp_path, seed):
    lines = list(graph_lines(seed=seed, traces=30))
    assert not {code for code in found(tmp_path, lines) if code.startswith("leak")}


# what reveals the label


@pytest.mark.parametrize("kind, name", [("tool", "tool"), ("graph", "candidate_id")])
@pytest.mark.parametrize("mark", ["{}_ground_truth", "groundTruth-{}"])
def test_an_id_that_carries_the_label_is_found_with_its_word(tmp_path, kind, name, mark):
    lines = changed(CLEAN[kind], **{name: lambda line: mark.format(line[name]) if line["label"] else line[name]})
    finding = found(tmp_path, lines)["leak-id"]
    groups = len(lines) // 4
    assert "'ground', 'truth'" in finding.message
    assert f"right {groups} times of {groups}, by chance {groups / 4:.0f}" in finding.message
    assert finding.count == groups


def test_an_id_that_marks_the_wrong_candidates_is_found(tmp_path):
    lines = changed(CLEAN["graph"], candidate_id=lambda line: line["candidate_id"] + "_fake" * (1 - line["label"]))
    assert "ids without the word 'fake'" in found(tmp_path, lines)["leak-id"].message


def test_a_third_of_the_ids_is_enough(tmp_path):
    lines = changed(
        CLEAN["graph"],
        candidate_id=lambda line: (
            line["candidate_id"] + "_gold" * (line["label"] * (int(line["trace_id"][1:]) % 3 == 0))
        ),
    )
    assert "'gold'" in found(tmp_path, lines)["leak-id"].message


def popular(share):
    """Samples whose right tool is the same in so many of ten traces, and never offered where it is wrong."""
    return changed(
        CLEAN["tool"],
        tool=lambda line: "web_surfer" if line["label"] and int(line["trace_id"][1:]) % 10 < share else line["tool"],
    )


def test_a_tool_that_is_right_whenever_it_is_offered_is_history_and_no_leak(tmp_path):
    assert "leak-id" not in found(tmp_path, popular(6))


def test_a_tool_that_is_the_answer_to_everything_is_told(tmp_path):
    assert "'web'" in found(tmp_path, popular(10))["leak-id"].message


def test_a_type_that_carries_the_label_is_found(tmp_path):
    lines = changed(
        CLEAN["graph"], candidate_type=lambda line: "ground_truth" if line["label"] else line["candidate_type"]
    )
    assert "the type reveals the label" in found(tmp_path, lines)["leak-type"].message


@pytest.mark.parametrize("sign, place", [(1, "last"), (-1, "first")])
def test_the_right_candidate_always_at_one_end_is_found(tmp_path, sign, place):
    lines = sorted(CLEAN["tool"], key=lambda line: (line["trace_id"], line["node_id"], sign * line["label"]))
    assert (
        f"stands {place} in its group 120 times of 120, by chance 30" in found(tmp_path, lines)["leak-position"].message
    )


def test_a_ready_feature_that_knows_the_answer_is_found_by_number_and_direction(tmp_path):
    lines = changed(CLEAN["tool"], features=lambda line: [float(len(line["tool"])), 0.5, -3.0 * line["label"]])
    findings = found(tmp_path, lines)
    assert findings["leak-feature"].message.startswith(
        "x3 alone knows the answer: its smallest value is right in 100 %"
    )
    assert findings["constant-feature"].message.startswith("x2 is the same for all candidates of each group")
    assert warnings(findings) == {"leak-feature", "constant-feature"}


def test_wrong_graphs_made_from_the_right_one_are_found_by_their_likeness(tmp_path):
    chain = [{"id": n, "name": name} for n, name in enumerate("abcdef")]
    edges = [[n, n + 1] for n in range(5)]
    other = [[*edges[:n], *edges[n + 1 :], [n, n]] for n in range(4)]  # each with another edge changed
    lines = changed(
        CLEAN["graph"],
        tree=lambda line: {"nodes": chain, "edges": edges if line["label"] else other[int(line["candidate_id"][1:])]},
    )
    finding = found(tmp_path, lines)["leak-likeness"]
    assert finding.severity == "warning"
    assert "by chance 0.250, without the query" in finding.message


def test_copies_among_the_columns_are_found(tmp_path):
    copied = changed(CLEAN["tool"], features=lambda line: [float(len(line["tool"])), 1 - 2.0 * len(line["tool"])])
    assert "x2 is x1 in another scale: r = -1.00000" in found(tmp_path, copied)["collinear"].message
    plain = found(tmp_path, CLEAN["tool"])["collinear"]
    assert plain.severity == "info"
    assert plain.message.startswith("tool.struct is a monotone copy of tool.rel")


# what is shared with training data


def test_what_stands_in_the_training_data_too_is_counted(tmp_path):
    train = write_lines(tmp_path / "train.jsonl", tool_lines(traces=10))
    other = [{**line, "trace_id": f"new {line['trace_id']}"} for line in tool_lines(seed=5, traces=10)]
    fresh = [{**line, "query": f"{line['query']} {line['trace_id']} {line['node_id']}"} for line in other]
    assert not {code for code in found(tmp_path, fresh, against=str(train)) if code.startswith("overlap")}
    known = [{**line, "query": " Find  MY flights"} for line in tool_lines(traces=1)]
    (tmp_path / "more.jsonl").write_text(json.dumps({**known[0], "trace_id": "z", "query": "find my flights"}))
    findings = found(tmp_path, [*fresh, *known], against=[str(train), str(tmp_path / "more.jsonl")])
    assert findings["overlap-group"].count == 3
    assert findings["overlap-query"].count == 3
    assert findings["overlap-group"].where[0] == f"{tmp_path}/s.jsonl:{len(fresh) + 1}"
    assert found(tmp_path, list(tool_lines(traces=10)), against=str(train))["overlap-file"].count == 1


def test_near_duplicates_are_a_share_of_the_queries(tmp_path):
    long = (
        "find a quiet hotel near the old harbour of Lisbon for three nights with breakfast and a view of the river {}"
    )
    train = write_lines(tmp_path / "t.jsonl", changed(tool_lines(), query=lambda line: long.format(line["trace_id"])))
    lines = changed(
        tool_lines(seed=2),
        trace_id=lambda line: f"z{line['trace_id']}",
        query=lambda line: long.format("x") if line["trace_id"] in ("t0", "t1", "t2") else line["query"],
    )
    finding = found(tmp_path, lines, against=str(train))["near-duplicates"]
    assert finding.count == 3 * 3
    assert finding.message.startswith("25 % of the queries (9 of 36)")


def test_the_closest_known_text_is_found_as_by_comparing_all_pairs():
    rng = np.random.default_rng(0)
    vocabulary = ["".join(rng.choice(list("abcdefghij"), 6)) for _ in range(60)]
    known = [" ".join(rng.choice(vocabulary, 20)) for _ in range(200)]
    texts = [f"{text} {vocabulary[0]}" for text in known[:50]] + [
        " ".join(rng.choice(vocabulary, 20)) for _ in range(50)
    ]
    pairs = np.divmod(np.arange(len(texts) * len(known)), len(known))
    exact = grams(texts).dots(pairs[0], grams(known), pairs[1]).reshape(len(texts), len(known)).max(axis=1)
    assert nearest_cosines(texts, known)[:50] == pytest.approx(exact[:50], abs=1e-12)
    assert (exact[:50] > 0.9).all()
    assert (nearest_cosines(texts, known)[50:] < 0.9).all()


# groups and texts


def one_group(labels, **fields):
    return [
        {"trace_id": "t", "node_id": "n", "query": "q", "tool": f"tool{n}", "tool_description": f"d{n}", "label": label}
        | fields
        for n, label in enumerate(labels)
    ]


@pytest.mark.parametrize(
    "lines, severity, code, count",
    [
        (one_group([1]), "warning", "one-candidate", 1),
        (one_group([0, 0]), "warning", "no-positive", 1),
        (one_group([1, 1]), "warning", "all-positive", 1),
        (one_group([1, 1, 0]), "info", "several-positives", 1),
        (one_group([2, 0.5, 0]), "info", "graded-labels", 2),
        (one_group([32, 0]), "warning", "large-labels", 1),
        (one_group([1, 0], query="  "), "warning", "empty-query", 1),
        (one_group([1, 0], tool_description=None), "warning", "no-text", 2),
        (one_group([1, 0, 0], tool_description="same"), "info", "same-text", 2),
        (one_group([None, None]), "info", "no-labels", 1),
        (one_group([1, None, 0]), "error", "data-error", 1),
        ([*one_group([1]), *CLEAN["tool"][:4], *one_group([0, 0, 0])[1:]], "info", "split-group", 1),
    ],
)
def test_a_degenerate_group_is_found_with_its_severity(tmp_path, lines, severity, code, count):
    finding = found(tmp_path, lines)[code]
    assert (finding.severity, finding.count) == (severity, count)


# lines that cannot be used


def errors(tmp_path, lines, **options):
    report = audit_samples(str(write_lines(tmp_path / "s.jsonl", lines)), **options)
    told = [finding for finding in report.findings if finding.severity == "error"]
    return [(each.where[0].removeprefix(f"{tmp_path}/"), each.message.partition(":")[0]) for each in told], report


def test_every_bad_line_is_told_and_the_other_groups_are_judged(tmp_path):
    lines = [dict(line) for line in CLEAN["tool"]]
    lines[0]["label"] = -1
    lines[5]["tool"] = ""
    del lines[9]["query"]
    lines[13]["query"] = "another"
    lines[18]["tool"] = lines[17]["tool"]
    lines[22] = {"node_id": 1}
    told, report = errors(tmp_path, lines)
    assert told == [
        ("s.jsonl:1", "label"),
        ("s.jsonl:6", "tool"),
        ("s.jsonl:10", "query"),
        ("s.jsonl:14", "query"),
        ("s.jsonl:23", "trace_id"),
        ("s.jsonl:19", "tool"),
    ]
    assert report.counts["groups"] == 120 - 5  # the group of the line without a key cannot be known
    assert warnings({each.code: each for each in report.findings}) == {"data-error"} | (
        {"no-positive"} if CLEAN["tool"][22]["label"] else set()
    )


def test_the_same_holds_for_graphs_and_lines_of_whole_groups(tmp_path):
    lines = [dict(line) for line in CLEAN["graph"]]
    lines[1]["tree"] = {"nodes": [{"id": 1}, {"id": 1}]}
    lines[4]["tree"] = None
    assert errors(tmp_path, lines)[0] == [("s.jsonl:2", "tree.nodes[1].id"), ("s.jsonl:5", "tree")] or errors(
        tmp_path, lines
    )[0] == [("s.jsonl:5", "tree"), ("s.jsonl:2", "tree.nodes[1].id")]
    whole = [{"trace_id": n, "node_id": 0, "query": "q", "candidates": one_group([n, 0])[:n]} for n in (0, 1, 2)]
    told, report = errors(tmp_path, whole)
    assert told == [("s.jsonl:1", "candidates")]
    assert report.counts["groups"] == 2


def test_very_many_errors_are_counted(tmp_path):
    report = audit_samples(str(write_lines(tmp_path / "s.jsonl", [{}] * 500)))
    assert len(report.findings) == 101
    assert sum(finding.count for finding in report.findings) == 500


def test_keys_that_stand_twice_are_told(tmp_path):
    path = write_lines(tmp_path / "s.jsonl", CLEAN["tool"])
    path.write_text(path.read_text().replace('"label": 1', '"label": 0, "label": 1', 1))
    (finding,) = [each for each in audit_samples(str(path)).findings if each.code == "repeated-key"]
    assert (finding.severity, finding.count) == ("warning", 1)


@pytest.mark.parametrize("content", [b"", b"\n \n", b"PK\x00\x00"])
def test_a_file_without_samples_is_an_error(tmp_path, content):
    (tmp_path / "s.jsonl").write_bytes(content)
    assert [each.code for each in audit_samples(str(tmp_path / "s.jsonl")).findings] == ["data-error"]


def test_what_stands_before_the_damage_of_a_file_is_judged(tmp_path):
    path = tmp_path / "s.jsonl.gz"
    packed = gzip.compress("".join(json.dumps(line) + "\n" for line in CLEAN["tool"]).encode())
    path.write_bytes(packed[:-20])
    report = audit_samples(str(path))
    assert report.counts["errors"] == 1
    assert "damaged" in report.findings[0].message


def test_files_and_catalogues_that_are_not_there_are_errors(tmp_path):
    samples = write_lines(tmp_path / "s.jsonl", CLEAN["tool"])
    for arguments in ({"tools": "no.json"}, {"graphs": "no.jsonl"}, {"against": "no.jsonl"}):
        assert audit_samples(str(samples), **arguments).counts["errors"] == 1
    assert audit_samples("no.jsonl").counts["errors"] == 1


def test_a_catalogue_gives_the_texts_that_are_judged(tmp_path):
    lines = changed(CLEAN["tool"], tool_description=lambda line: None)
    assert "no-text" in found(tmp_path, lines)
    tools = {line["tool"]: {"description": f"does {line['tool']}"} for line in lines}
    (tmp_path / "tools.json").write_text(json.dumps({"tools": tools}))
    assert not {"no-text", "not-in-catalogue"} & set(found(tmp_path, lines, tools=str(tmp_path / "tools.json")))
    (tmp_path / "tools.json").write_text(json.dumps({"tools": dict(list(tools.items())[1:])}))
    assert " (1 names)" in found(tmp_path, lines, tools=str(tmp_path / "tools.json"))["not-in-catalogue"].message


def test_featurised_columns_are_judged_under_their_names(tmp_path):
    groups = read_groups(str(write_lines(tmp_path / "s.jsonl", CLEAN["tool"])))
    features, phi = fit_features([FeatureConfig("tool.rel"), FeatureConfig("tool.struct")], groups, "hash")
    save_columns(tmp_path / "s.npz", groups, phi, features)
    report = audit_samples(str(tmp_path / "s.npz"))
    assert "tool.struct is a monotone copy of tool.rel" in report.findings[0].message


# the counting behind it


def test_a_tally_counts_bearers_hits_and_chance():
    groups = read_groups_of([[1, 0, 0], [0, 1], [1, 1], [0, 0]])
    counted = ChanceTest.of(groups).tally(np.array([0, 1, 3, 5, 7]), np.zeros(5, dtype=np.int64), 1)
    assert (counted.hits[0], counted.rows[0], counted.trials[0]) == (1, 3, 2)  # the last two groups cannot tell
    assert counted.expected[0] == pytest.approx(2 / 3 + 1 / 2)
    assert counted.absent().hits[0] == 1


def test_the_surprise_bounds_the_exact_probability():
    groups = read_groups_of([[1, 0, 0, 0]] * 12)
    first = np.arange(12) * 4
    surprise = ChanceTest.of(groups).tally(first, np.zeros(12, dtype=np.int64), 1).surprise[0]
    assert surprise == pytest.approx(12 * np.log(4))  # all of 12 at chance 1/4: exactly -ln (1/4)^12


def read_groups_of(labels):
    """Groups with these labels."""
    from ltr.data.groups import Groups

    class Nothing:
        kind = "graph"

    offsets = np.concatenate([[0], np.cumsum([len(each) for each in labels])])
    return Groups(Nothing(), np.array([label for each in labels for label in each], dtype=float), offsets)


def test_an_id_falls_into_words_at_case_and_digits():
    assert id_words("getHTTPData2-日本_x") == ["get", "http", "data", "2", "日本", "x", "gethttpdata2-日本_x"]


def test_the_quick_part_is_leaks_and_overlap_only(tmp_path):
    lines = changed(CLEAN["graph"], candidate_id=lambda line: line["candidate_id"] + "_gold" * line["label"])
    groups = read_groups(str(write_lines(tmp_path / "s.jsonl", lines)))
    assert [each.code for each in quick_findings(groups, None)] == ["leak-id"]
    assert [each.code for each in quick_findings(groups, groups)] == ["leak-id", "overlap-file"]
