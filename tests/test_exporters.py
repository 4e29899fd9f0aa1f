import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from ltr import import_samples, read_groups
from ltr.errors import DataError, UsageError
from ltr.experiments.export import exported_samples
from ltr.importers import IMPORTERS
from ltr.importers.exporters import column_text, falling, topic_texts
from ltr.importers.trec import RUN, read_entries
from tests.made import told, tool_rows, written

PAYLOADS = [
    start + rest
    for start in "=+-@\t\r\n＝＋－＠"
    for rest in ("1+1", "cmd|' /C calc'!A0", "SUM(1,2)", '"x"', " a", "\n=1", "")
]


def export(form, source, out):
    told("export", form, source, "-o", out)


def sample(name="a", score=1.0, label=1, trace="t", node="n", query="q"):
    return {"trace_id": trace, "node_id": node, "query": query, "tool": name, "features": [score], "label": label}


@pytest.fixture
def run(cli, filled):
    """A run measured on test samples, in the current directory."""

    def run_of_tools():
        written("train.jsonl", tool_rows(range(20)))
        written("test.jsonl", tool_rows(range(30, 40), seed=1))
        cli.good("train", "train.jsonl", "--test", "test.jsonl", "-o", "run", "-q")

    filled(Path.cwd(), run_of_tools)
    return cli


def as_singles(texts):
    return np.array(texts, dtype=np.float64).astype(np.float32)


@pytest.mark.parametrize(
    "scores",
    [
        [1.0] * 50,
        [0.0] * 5,
        [-0.0, 0.0, -1e-46],
        [1e300, 1e299, 5.0, -1e300],
        [1 + 1e-12, 1.0, 1 - 1e-12],
        [-3.0, -3.0],
    ],
)
def test_falling_scores_fall_at_every_step_in_single_and_in_double_precision(scores):
    texts = [str(score) for score in falling(np.array(scores))]
    for read in (np.array(texts, dtype=np.float64), as_singles([float(text) for text in texts])):
        assert (np.diff(read) < 0).all()


def test_scores_that_fall_already_stay_as_they_are():
    assert falling(np.array([3.5, 0.25, -2.0])).tolist() == [3.5, 0.25, -2.0]


def test_random_scores_with_ties_stay_near_and_fall():
    draw = np.random.default_rng(0)
    for _ in range(100):
        scores = np.sort(draw.choice([draw.normal(), 0.0, 1.0, 1 + 1e-9], size=30))[::-1]
        lowered = falling(scores)
        assert (np.diff(lowered) < 0).all()
        assert lowered.tolist() == pytest.approx(scores.tolist(), abs=1e-5)


def test_a_run_exported_to_trec_has_the_metrics_it_had(run):
    run.good("export", "trec", "run", "-o", "out.trec")
    kept, trec = (
        json.loads(run.good("evaluate", *arguments, "--metrics", "ndcg@3,map", "--format", "json"))
        for arguments in (["run", "test.jsonl", "--ties", "trec"], ["--run", "out.trec", "--qrels", "out.trec.qrels"])
    )
    for name in ("top1_accuracy", "top3_accuracy", "mrr", "ndcg@3", "map", "num_queries"):
        assert trec[name] == pytest.approx(kept[name], abs=1e-12)


def test_tied_candidates_leave_in_our_order(tmp_path):
    written(tmp_path / "s.jsonl", [sample(name, 0.5) for name in "cab"])
    export("trec", tmp_path / "s.jsonl", tmp_path / "out")
    lines = [line.split() for line in (tmp_path / "out").read_text().splitlines()]
    assert [line[2] for line in lines] == ["a", "b", "c"]
    assert [line[3] for line in lines] == ["1", "2", "3"]


def test_a_run_of_trec_comes_back_as_it_left(tmp_path):
    rows = [
        sample(name, score, int(name == "b"), f"t{t}")
        for t in range(3)
        for name, score in zip("abc", (3, 2, 1), strict=True)
    ]
    written(tmp_path / "s.jsonl", rows)
    export("trec", tmp_path / "s.jsonl", tmp_path / "one")
    import_samples("trec", [tmp_path / "one", tmp_path / "one.qrels"], tmp_path / "back.jsonl")
    export("trec", tmp_path / "back.jsonl", tmp_path / "two")
    assert (tmp_path / "two").read_bytes() == (tmp_path / "one").read_bytes()
    assert (tmp_path / "two.qrels").read_bytes() == (tmp_path / "one.qrels").read_bytes()


def test_a_run_without_qrels_becomes_samples_without_labels(tmp_path):
    (tmp_path / "x").write_text("1 Q0 a 1 0.5 t\n")
    import_samples("trec", [tmp_path / "x"], tmp_path / "s.jsonl")
    assert json.loads((tmp_path / "s.jsonl").read_text()) == {
        "trace_id": "1", "node_id": "", "query": "1", "tool": "a", "features": [0.5]
    }  # fmt: skip


def test_what_an_import_leaves_out_is_told(run):
    run.good("export", "trec", "run", "-o", "x")
    with Path("x.qrels").open("a") as qrels:
        qrels.write("t30/n0 0 unseen 1\nt99/n0 0 get_map 1\n")
    run.good("import", "trec", "x", "x.qrels", "-o", "s.jsonl")
    assert "left out: 1 document judged and not retrieved" in run.err
    assert "left out: 1 topic of the qrels that the run does not have" in run.err


@pytest.mark.parametrize("names", [["q"], ["q", "r", "r"], ["r", "q", "q"]])
def test_trec_needs_one_run_and_at_most_one_file_of_qrels(tmp_path, names):
    (tmp_path / "r").write_text("1 Q0 a 1 0.5 t\n")
    (tmp_path / "q").write_text("# grades\n1 0 a 1\n")
    with pytest.raises(UsageError, match="one run, and at most one file of qrels, is needed"):
        import_samples("trec", [tmp_path / name for name in names], tmp_path / "s.jsonl")


def test_ids_of_white_space_stay_apart_and_never_break_a_column(tmp_path):
    names = ["a b", "a\tb", "a%20b", "a\n1 Q0 x 1 9 t", "a\u2028", "#", "ünï", "a\xa0b"]
    written(tmp_path / "s.jsonl", [sample(name, place, trace=name, node=name) for place, name in enumerate(names)])
    export("trec", tmp_path / "s.jsonl", tmp_path / "out")
    lines = (tmp_path / "out").read_text(encoding="utf-8").splitlines()
    assert [len(line.split()) for line in lines] == [6] * len(names)
    assert len({line.split()[0] for line in lines}) == len({line.split()[2] for line in lines}) == len(names)
    assert len(read_entries(tmp_path / "out", RUN).lines) == len(names)


def test_two_queries_never_share_a_topic(tmp_path):
    keys = [("a/b", "c"), ("a", "b/c"), ("a/b/c", "")]
    written(tmp_path / "s.jsonl", [sample(trace=trace, node=node) for trace, node in keys])
    assert topic_texts(read_groups(tmp_path / "s.jsonl").candidates) == ["a%2Fb/c", "a/b%2Fc", "a%2Fb%2Fc"]


def test_no_two_texts_become_one():
    texts = ["a b", "a%20b", "a%2520b", "%", "%%", "", " "]
    assert len({column_text(text) for text in texts}) == len(texts) - 1  # no name is empty: "" and "%" may meet


def test_a_trec_run_needs_scores(tmp_path):
    written(tmp_path / "s.jsonl", tool_rows(range(2)))
    with pytest.raises(UsageError, match="needs scores"):
        export("trec", tmp_path / "s.jsonl", tmp_path / "out")


def test_letor_needs_numbers_and_labels(tmp_path):
    written(tmp_path / "s.jsonl", tool_rows(range(2)))
    with pytest.raises(UsageError, match="need numbers"):
        export("letor", tmp_path / "s.jsonl", tmp_path / "out")
    written(tmp_path / "s.jsonl", [{key: value for key, value in sample().items() if key != "label"}])
    with pytest.raises(UsageError, match="need labels"):
        export("letor", tmp_path / "s.jsonl", tmp_path / "out")


@pytest.mark.parametrize("text", PAYLOADS, ids=repr)
@pytest.mark.parametrize("end", [".csv", ".tsv"])
def test_no_cell_of_text_is_a_formula(tmp_path, text, end):
    written(tmp_path / "s.jsonl", [sample(f"{text}x", trace=text, node=text, query=text)])
    export("csv", tmp_path / "s.jsonl", tmp_path / f"out{end}")
    with (tmp_path / f"out{end}").open(newline="", encoding="utf-8") as file:
        _, row = csv.reader(file, delimiter="," if end == ".csv" else "\t")
    assert [each for each in row[:4] if each.startswith(tuple("=+-@\t\r\n＝＋－＠"))] == []
    assert row[3] == f"'{text}x"


@pytest.mark.parametrize("end", [".csv", ".tsv"])
def test_every_cell_of_text_is_quoted_whatever_separator_its_reader_takes_and_no_number_is(cli, end):
    written("s.jsonl", [sample("b;=1+1", -0.5, query="a;=cmd|' /C calc'!A0", trace="t\t=2", node="plain")])
    cli.good("export", "csv", "s.jsonl", "-o", f"x{end}")
    separator = "," if end == ".csv" else "\t"
    line = separator.join(['"t\t=2"', '"plain"', "\"a;=cmd|' /C calc'!A0\"", '"b;=1+1"', "1.0", "-0.5", "1", "-0.5"])
    assert Path(f"x{end}").read_text(encoding="utf-8").splitlines()[1] == line


@pytest.mark.parametrize("end", [".csv", ".tsv", ".csv.gz"])
def test_a_table_comes_back_with_the_texts_it_left_with(cli, end):
    texts = [*(f"{text}x" for text in PAYLOADS), "'=1", "''@x", "'tis", "'", "a\r\nb", "\n=1", "＝1", '"', ";", "-5"]
    written("s.jsonl", [sample(query=text, trace=f"t{place}") for place, text in enumerate(texts)])
    cli.good("export", "csv", "s.jsonl", "-o", f"x{end}")
    cli.good("import", "csv", f"x{end}", "-o", "back.jsonl", "--option", "features=x1", "--no-redact")
    back = [json.loads(line) for line in Path("back.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["query"] for row in back] == texts
    assert {(row["tool"], row["label"], *row["features"]) for row in back} == {("a", 1.0, 1.0)}


def test_a_table_holds_every_candidate_with_its_rank(tmp_path):
    written(tmp_path / "s.jsonl", [sample("a", -0.5, 0), sample("b", -0.25, 1)])
    export("csv", tmp_path / "s.jsonl", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == (
        '"trace_id","node_id","query","candidate","label","score","rank","x1"\n'
        '"t","n","q","a",0.0,-0.5,2,-0.5\n'
        '"t","n","q","b",1.0,-0.25,1,-0.25\n'
    )


def test_a_table_of_samples_without_numbers_has_no_score(tmp_path):
    written(tmp_path / "s.jsonl", [{"trace_id": "t", "node_id": "n", "query": "q", "tool": "a"}])
    export("csv", tmp_path / "s.jsonl", tmp_path / "out.csv.gz")
    assert gzip.decompress((tmp_path / "out.csv.gz").read_bytes()) == (
        b'"trace_id","node_id","query","candidate","label"\n"t","n","q","a",""\n'
    )


def test_a_table_needs_a_name_that_says_how_cells_are_parted(tmp_path):
    written(tmp_path / "s.jsonl", [sample()])
    with pytest.raises(UsageError, match=r"name an output that ends in .csv or .tsv"):
        export("csv", tmp_path / "s.jsonl", tmp_path / "out.txt")


def test_what_is_there_is_not_replaced_unless_asked(run):
    run.good("export", "csv", "test.jsonl", "-o", "x.csv")
    assert run.refused("export", "csv", "test.jsonl", "-o", "x.csv")[0] == 2
    run.good("export", "csv", "test.jsonl", "-o", "x.csv", "--overwrite")
    run.good("export", "trec", "run", "-o", "x")
    assert run.refused("import", "trec", "x", "x.qrels", "-o", "test.jsonl")[0] == 2
    Path("x").unlink()
    assert run.refused("export", "trec", "run", "-o", "x")[0] == 2  # x.qrels is there


def test_an_unknown_format_lists_the_known_ones(run):
    assert run.refused("export", "xls", "test.jsonl", "-o", "x") == (
        2,
        "unknown exporter 'xls'; known: csv, letor, trec",
    )
    assert {"letor", "trec"} <= set(IMPORTERS.names())


def test_samples_are_written_as_jsonl_only(run):
    assert "name an output that ends in .jsonl" in run.refused("import", "letor", "x", "-o", "x.csv")[1]


def test_a_run_whose_data_has_changed_is_not_exported(run):
    written("test.jsonl", tool_rows(range(30, 41), seed=1))
    with pytest.raises(DataError, match="its data is not what it was measured on"):
        export("trec", "run", "x")


def test_a_run_measured_on_its_training_data_leaves_with_the_columns_it_had(run):
    run.good("train", "train.jsonl", "-o", "second", "-q")
    run.good("export", "trec", "second", "-o", "x")
    trec = json.loads(run.good("evaluate", "--run", "x", "--qrels", "x.qrels", "--format", "json"))
    assert trec["mrr"] == pytest.approx(
        json.loads(Path("second/metrics.json").read_text())["metrics"]["mrr"], abs=1e-12
    )


def test_one_ready_number_is_the_score_and_several_are_not(tmp_path):
    written(tmp_path / "s.jsonl", [sample()])
    assert exported_samples(tmp_path / "s.jsonl").scores is not None
    written(tmp_path / "s.jsonl", [sample() | {"features": [1, 2]}])
    assert exported_samples(tmp_path / "s.jsonl").scores is None


def test_labels_keep_every_digit(tmp_path):
    labels = [1234567, 0.30000000000000004, 3, 1e-7]
    samples = written(tmp_path / "s.jsonl", [sample(str(place), label=each) for place, each in enumerate(labels)])
    export("trec", str(samples), tmp_path / "x")
    export("letor", str(samples), tmp_path / "x.letor")
    assert [float(line.split()[3]) for line in (tmp_path / "x.qrels").read_text().splitlines()] == labels
    assert [line.split()[0] for line in (tmp_path / "x.letor").read_text().splitlines()] == [
        "1234567", "0.30000000000000004", "3", "1e-07"
    ]  # fmt: skip
