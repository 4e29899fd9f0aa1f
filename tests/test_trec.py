"""TREC runs and qrels, rule by rule, and against trec_eval's rules written out over dictionaries."""

import json
import random
from dataclasses import replace
from math import log2
from pathlib import Path

import numpy as np
import pytest

from ltr.errors import DataError, SampleError
from ltr.importers.rankings import match_qrels, read_ranked
from ltr.importers.trec import LONGEST_TOKEN, QRELS, RUN, read_entries, token_hashes
from tests.made import told

METRICS = ("hit@1", "precision@5", "recall@5", "recall@1000", "ndcg", "ndcg@10", "map", "map@5")
LINES = "301 Q0 d1 1 0.9 tag\n301 Q0 d2 2 0.5 tag\n302 Q0 d3 1 7 tag\n"
JUDGED = "301 0 d2 1\n302 0 d3 1\n"


def written(directory, run=LINES, qrels=JUDGED):
    paths = Path(directory, "x.run"), Path(directory, "x.qrels")
    for path, text in zip(paths, (run, qrels), strict=True):
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return paths


def measured(directory, run=LINES, qrels=JUDGED, ties="trec", *, complete=False):
    """What `ltr evaluate --run` says of a run, and the records that it keeps."""
    run, qrels = written(directory, run, qrels)
    flags = ["--metrics", ",".join(METRICS), "--ties", ties, "--hash-topics", *(["--complete"] if complete else [])]
    kept = [*flags, "-o", directory / "kept", "--overwrite", "--format", "json"]
    return json.loads(told("evaluate", "--run", run, "--qrels", qrels, *kept))


def means(directory, run=LINES, qrels=JUDGED, ties="trec"):
    found = measured(directory, run, qrels, ties)
    return {name: found[name] for name in ("mrr", *METRICS)}


def records_in(directory):
    lines = (directory / "kept" / "per_query.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def mrr(directory, run=LINES, qrels=JUDGED, ties="trec"):
    return means(directory, run, qrels, ties)["mrr"]


def test_the_example_is_what_it_is_by_hand(tmp_path):
    assert mrr(tmp_path) == (1 / 2 + 1) / 2


def test_columns_are_split_at_any_run_of_spaces_and_tabs(tmp_path):
    run = "  301\tQ0   d1 \t 1  0.9  tag \r\n301 Q0\td2 2 0.5 tag\r\n\n302 Q0 d3 1 7 tag"
    assert mrr(tmp_path, run, "301\t0  d2 1\r\n 302 0 d3\t1") == 3 / 4


def test_rank_and_q0_are_not_read(tmp_path):
    run = "301 x d1 99 0.9 tag\n301 1 d2 0 0.5 tag\n302 - d3 z 7 tag\n"
    assert mrr(tmp_path, run) == 3 / 4


def test_columns_after_the_last_are_let_be(tmp_path):
    run = "301 Q0 d1 1 0.9 tag and more\n301 Q0 d2 2 0.5 tag\n302 Q0 d3 1 7 tag 8\n"
    assert mrr(tmp_path, run, "301 0 d2 1 x y z\n302 0 d3 1\n") == 3 / 4


def test_a_topic_that_begins_with_a_hash_counts_as_any_other(tmp_path):
    run = "#1 Q0 d1 1 3 t\n#1 Q0 d2 2 2 t\n2 Q0 d1 1 1 t\n"
    found = measured(tmp_path, run, "#1 0 d2 1\n2 0 d1 1\n")
    assert (found["mrr"], found["num_queries"]) == ((1 / 2 + 1) / 2, 2)


def test_a_hash_inside_an_id_is_part_of_it(tmp_path):
    assert mrr(tmp_path, "301 Q0 d#1 1 2 t\n301 Q0 #d2 2 1 t\n", "301 0 #d2 1\n") == 1 / 2


def test_documents_are_ordered_by_score_and_not_by_line(tmp_path):
    assert mrr(tmp_path, "1 Q0 a 1 0.1 t\n1 Q0 b 2 0.2 t\n1 Q0 c 3 0.3 t\n", "1 0 c 1\n") == 1.0


def test_equal_scores_go_by_docno_from_the_last_in_byte_order(tmp_path):
    names = ["a", "b", "B", "10", "9", "z", "é", "～", "𝒳"]
    run = "".join(f"1 Q0 {name} 1 0.5 t\n" for name in names)
    by_bytes = sorted(names, key=str.encode, reverse=True)
    for place, name in enumerate(by_bytes, start=1):
        assert mrr(tmp_path, run, f"1 0 {name} 1\n") == 1 / place


def test_scores_are_float64(tmp_path):
    run = "1 Q0 a 1 1.000000001 t\n1 Q0 b 2 1.0 t\n"
    assert (mrr(tmp_path, run, "1 0 a 1\n"), mrr(tmp_path, run, "1 0 b 1\n")) == (1.0, 1 / 2)


def test_a_negative_grade_is_no_judgement(tmp_path):
    run = "1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n"
    assert means(tmp_path, run, "1 0 a -1\n1 0 b 1\n") == means(tmp_path, run, "1 0 b 1\n")


@pytest.mark.parametrize("grade", [0, -2])
def test_a_topic_judged_without_a_right_document_counts_zero(tmp_path, grade):
    found = measured(tmp_path, LINES + "303 Q0 d9 1 1 t\n", JUDGED + f"303 0 d9 {grade}\n")
    assert (found["mrr"], found["num_queries"], found["num_no_relevant"]) == ((1 / 2 + 1 + 0) / 3, 3, 1)


@pytest.mark.parametrize("extra, line", [("301 Q0 d2 9 0.1 tag\n", 4), ("#1 Q0 d1 1 1 t\n\n301 Q0 d1 9 0.1 tag\n", 6)])
def test_a_document_that_stands_twice_in_a_topic_of_the_run_is_refused(tmp_path, extra, line):
    with pytest.raises(DataError, match=rf"x\.run:{line}: document 'd[12]' stands in line [12] for the same topic"):
        mrr(tmp_path, LINES + extra)


def test_a_document_that_stands_twice_in_a_topic_of_the_qrels_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"x\.qrels:3: document 'd3' stands in line 2"):
        mrr(tmp_path, LINES, JUDGED + "302 0 d3 0\n")


def test_a_document_may_stand_in_several_topics(tmp_path):
    assert mrr(tmp_path, "1 Q0 d 1 1 t\n2 Q0 d 1 1 t\n", "1 0 d 1\n2 0 d 1\n") == 1.0


def test_topics_without_qrels_are_ignored_and_counted(tmp_path):
    found = measured(tmp_path, LINES + "999 Q0 d1 1 5 tag\n998 Q0 d1 1 5 tag\n")
    assert (found["mrr"], found["num_ignored"]) == (3 / 4, 2)


def test_topics_that_the_run_misses_are_left_out_and_counted(tmp_path):
    found = measured(tmp_path, LINES, "300 0 d1 1\n" + JUDGED + "303 0 d1 1\n304 0 d1 0\n")
    assert found["mrr"] == (1 / 2 + 1) / 2
    assert (found["num_missing"], found["num_queries"]) == (3, 2)


def test_topics_that_the_run_misses_count_zero_in_a_complete_evaluation(tmp_path):
    found = measured(tmp_path, LINES, "300 0 d1 1\n" + JUDGED + "303 0 d1 1\n304 0 d1 0\n", complete=True)
    assert found["mrr"] == (0 + 1 / 2 + 1 + 0 + 0) / 5
    assert (found["num_missing"], found["num_queries"]) == (3, 5)


def test_a_run_that_answers_no_topic_of_the_qrels_is_refused_and_scores_zero_in_a_complete_evaluation(tmp_path):
    with pytest.raises(DataError, match=r"x\.run: no topic of .*x\.qrels stands in it"):
        measured(tmp_path, "9 Q0 d 1 1 t\n")
    found = measured(tmp_path, "9 Q0 d 1 1 t\n", complete=True)
    assert {found[name] for name in ("mrr", *METRICS)} == {0.0}


def test_right_documents_that_were_not_retrieved_count_among_all(tmp_path):
    found = means(tmp_path, "1 Q0 a 1 1 t\n", "1 0 a 1\n1 0 b 1\n1 0 c 3\n")
    ideal = 3 + 1 / log2(3) + 1 / 2
    assert found["recall@1000"] == found["map"] == 1 / 3
    assert found["ndcg"] == pytest.approx(1 / ideal, abs=1e-15)


def test_the_five_tie_rules_can_be_asked_for(tmp_path):
    run, qrels = "1 Q0 a 1 1 t\n1 Q0 b 2 1 t\n1 Q0 c 3 1 t\n", "1 0 b 1\n"
    rules = {"trec": 1 / 2, "file": 1 / 2, "worst": 1 / 3, "best": 1.0, "expected": (1 + 1 / 2 + 1 / 3) / 3}
    assert {name: mrr(tmp_path, run, qrels, name) for name in rules} == pytest.approx(rules, abs=1e-15)


def test_shuffling_the_lines_of_a_run_changes_nothing(tmp_path):
    run, qrels = random_files(random.Random(4))
    before = measured(tmp_path, "".join(run), "".join(qrels))
    for seed in range(3):
        random.Random(seed).shuffle(run)
        after = measured(tmp_path, "".join(run), "".join(qrels))
        assert after == before


def test_the_record_of_a_missed_topic_has_nothing_ranked(tmp_path):
    measured(tmp_path, LINES, JUDGED + "303 0 d8 1\n", complete=True)
    records = records_in(tmp_path)
    assert [record["rank"] for record in records] == [2, 1, None]
    missed = records[2]
    assert (missed["true_candidate"], missed["predicted_candidate"], missed["top3_candidates"]) == ("d8", None, [])
    assert (missed["num_candidates"], missed["num_positives"], missed["probability"]) == (0, 1, None)
    assert (missed["is_top1_correct"], missed["reciprocal_rank"]) == (False, 0.0)


def random_files(draw, topics=40):
    """Lines of a run and of qrels with ties, unjudged, negative, graded, missed and ignored ones."""
    run, qrels = [], []
    for topic in range(topics):
        docs = draw.sample(range(60), draw.randrange(1, 30))
        if draw.random() < 0.9:
            run += [f"q{topic} Q0 doc{doc} 0 {draw.choice([0.5, 1, 1.5, draw.random()])} t\n" for doc in docs]
        if draw.random() < 0.9:
            graded = draw.sample(range(60), draw.randrange(1, 20))
            qrels += [f"q{topic} 0 doc{doc} {draw.choice([-1, 0, 0, 1, 2])}\n" for doc in graded]
    return run, qrels


def trec_eval(run, qrels, *, complete):
    """The means of mrr, map, recall@5, precision@5, ndcg by trec_eval's rules (complete: -c), over dictionaries."""
    scores, grades = {}, {}
    for line in run:
        topic, _, doc, _, score, _ = line.split()
        scores.setdefault(topic, {})[doc] = float(score)
    for line in qrels:
        topic, _, doc, grade = line.split()
        grades.setdefault(topic, {})[doc] = int(grade)
    found = []
    for topic, judgements in grades.items():
        if topic in scores or complete:
            right = {doc: grade for doc, grade in judgements.items() if grade > 0}
            ranked = sorted(scores.get(topic, {}).items(), key=lambda item: (item[1], item[0]), reverse=True)
            found.append(one_topic([right.get(doc, 0) for doc, _ in ranked], sorted(right.values(), reverse=True)))
    return [sum(column) / len(column) for column in zip(*found, strict=True)]


def one_topic(gains, ideal):
    if not ideal:
        return 0.0, 0.0, 0.0, 0.0, 0.0
    places = [place for place, gain in enumerate(gains, start=1) if gain > 0]
    precisions = [hits / place for hits, place in enumerate(places, start=1)]
    dcg, best = (sum(gain / log2(place + 1) for place, gain in enumerate(each, start=1)) for each in (gains, ideal))
    within = sum(place <= 5 for place in places)
    return 1 / places[0] if places else 0.0, sum(precisions) / len(ideal), within / len(ideal), within / 5, dcg / best


@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_numbers_are_trec_evals(tmp_path, seed, complete):
    run, qrels = random_files(random.Random(seed))
    found = measured(tmp_path, "".join(run), "".join(qrels), complete=complete)
    names = ("mrr", "map", "recall@5", "precision@5", "ndcg")
    assert [found[name] for name in names] == pytest.approx(trec_eval(run, qrels, complete=complete), abs=1e-12)


def test_the_numbers_are_pytrec_evals_where_no_score_is_tied(tmp_path):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run, qrels = random_files(random.Random(1))
    run = [line.replace(line.split()[4], str(place)) for place, line in enumerate(run)]
    paths = written(tmp_path, "".join(run), "".join(qrels))
    with paths[0].open() as ours, paths[1].open() as truth:
        theirs = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(truth), {"recip_rank", "map"}).evaluate(
            pytrec_eval.parse_run(ours)
        )
    measured(tmp_path, "".join(run), "".join(qrels))
    records = {record["trace_id"]: record for record in records_in(tmp_path)}
    assert records.keys() == theirs.keys()
    for topic, values in theirs.items():
        assert records[topic]["reciprocal_rank"] == pytest.approx(values["recip_rank"], abs=1e-12)
        assert records[topic]["metrics"]["map"] == pytest.approx(values["map"], abs=1e-12)


@pytest.mark.parametrize(
    "run, problem",
    [
        ("301 Q0 d1 1\n", r"x\.run:1: found 4 columns; TOPIC Q0 DOC RANK SCORE TAG is needed"),
        (LINES + "301 Q0 d9 1 high t\n", r"x\.run:4: score: found 'high'; a finite number is needed"),
        (LINES + "301 Q0 d9 1 nan t\n", r"x\.run:4: score: found 'nan'; a finite number"),
        (LINES + "301 Q0 d9 1 1e999 t\n", r"x\.run:4: score: found '1e999'"),
        (LINES + "301 Q0 d9 1 1_0 t\n", r"x\.run:4: score: found '1_0'"),
        (LINES.encode() + b"301 Q0 d\xff 1 1 t\n", r"x\.run:4: byte 9 is not UTF-8"),
        (LINES + "301 Q0 d\0 1 1 t\n", r"x\.run:4: found a zero byte"),
        (
            LINES + f"301 Q0 {'d' * (LONGEST_TOKEN + 1)} 1 1 t\n",
            r"x\.run:4: found 257 bytes in one column; at most 256",
        ),
        ("1 nothing\n" + LINES, r"x\.run:1: found 2 columns; TOPIC Q0 DOC RANK SCORE TAG is needed"),
        ("\n \n", r"x\.run: no line; TOPIC Q0"),
        ("", r"x\.run: no line"),
    ],
)
def test_a_line_that_cannot_be_read_is_refused_with_its_place(tmp_path, run, problem):
    with pytest.raises(DataError, match=problem):
        mrr(tmp_path, run)


@pytest.mark.parametrize("name", ["x.run", "x.run.gz", "x.run.zst"])
def test_packed_files_are_read(tmp_path, name):
    from ltr.files import write_lines

    write_lines(tmp_path / name, LINES.encode().splitlines())
    assert read_entries(tmp_path / name, RUN).values.tolist() == [0.9, 0.5, 7.0]


def test_the_longest_ids_are_read_whole(tmp_path):
    long = "d" * LONGEST_TOKEN
    run = written(tmp_path, f"1 Q0 {long} 1 1 t\n1 Q0 {long[1:]} 1 2 t\n")[0]
    assert read_entries(run, RUN).docs.tolist() == [long.encode(), long[1:].encode()]


def test_the_lines_of_many_blocks_keep_their_numbers_and_topics(tmp_path):
    lines = [f"{topic} Q0 doc{topic}-{place} {place} {-place} tag\n" for topic in range(300) for place in range(200)]
    lines[41_000] = "\n"
    run = written(tmp_path, "".join(lines))[0]
    assert run.stat().st_size > 1 << 20
    found = read_entries(run, RUN)
    assert found.lines.tolist() == [number for number in range(1, 60_001) if number != 41_001]
    assert found.docs.tolist() == [line.split()[2].encode() for line in lines if line.strip()]
    assert found.topics.tolist() == [int(line.split()[0]) for line in lines if line.strip()]


def test_regular_lines_and_odd_lines_are_read_the_same(tmp_path):
    run, _ = random_files(random.Random(2))
    regular = read_entries(written(tmp_path, "".join(run))[0], RUN)
    odd = read_entries(written(tmp_path, "".join(run) + "\n\n")[0], RUN)
    assert regular.docs.tolist() == odd.docs.tolist()
    for column in ("topics", "values", "lines", "hashes"):
        assert getattr(regular, column).tolist() == getattr(odd, column).tolist()


def test_documents_with_one_hash_are_told_apart(tmp_path):
    run, qrels = random_files(random.Random(3))
    paths = written(tmp_path, "".join(run), "".join(qrels))
    topics = {}
    truth = read_entries(paths[1], QRELS, topics)
    retrieved = read_entries(paths[0], RUN, topics)
    expected = match_qrels(retrieved, truth)
    alike = [replace(each, hashes=np.zeros_like(each.hashes)) for each in (retrieved, truth)]
    found = match_qrels(*alike)
    assert found[0].tolist() == expected[0].tolist()
    assert found[1].tolist() == expected[1].tolist()


def test_a_hash_does_not_follow_from_the_width_of_the_words():
    narrow, wide = np.array([b"abc"]), np.array([b"abc", b"a document with a longer name"])[:1]
    assert token_hashes(narrow).tolist() == token_hashes(wide).tolist()


def test_the_place_of_a_row_is_its_line_in_the_run_or_the_qrels(tmp_path):
    candidates = read_ranked(*written(tmp_path, LINES, JUDGED + "301 0 d8 1\n")).groups.candidates
    places = {candidates.name_texts[name]: candidates.place(row) for row, name in enumerate(candidates.names.tolist())}
    assert [Path(places[name][0]).name for name in ("d1", "d3", "d8")] == ["x.run", "x.run", "x.qrels"]
    assert [places[name][1] for name in ("d1", "d3", "d8")] == [1, 3, 3]


def plainly_read(content):
    """What a loop over the lines makes of a run; None where a line cannot be read."""
    found = []
    for line in content.split(b"\n"):
        tokens = line.split()
        if not tokens or line.startswith(b"#"):
            continue
        try:
            line.decode()
            score = float(tokens[4])
        except (ValueError, IndexError):
            return None
        if b"\0" in line or b"_" in tokens[4] or not np.isfinite(score):
            return None
        found.append((tokens[0], tokens[2], score))
    return found if found and len({pair[:2] for pair in found}) == len(found) else None


def damaged(content, draw):
    """The content with some bytes changed, cut out or put in."""
    odd = [b" ", b"\t\t", b"\n", b"\r\n", b"# ", b"\x0b", b"\x1c", b"inf", b"\xff", "\u2028".encode(), b"\0"]
    for _ in range(draw.randrange(1, 4)):
        place = draw.randrange(5, len(content))
        content = content[:place] + draw.choice([*odd, b""]) + content[place + draw.randrange(3) :]
    return content


def test_a_damaged_run_is_read_as_a_plain_loop_reads_it_or_refused(tmp_path):
    draw, outcomes = random.Random(7), set()
    whole = b"".join(b"%d Q0 doc%d %d %d.5 t\n" % (topic, doc, doc, doc) for topic in range(3) for doc in range(6))
    for _ in range(800):
        content, topics = damaged(whole, draw), {}
        path = tmp_path / "x.run"
        path.write_bytes(content)
        try:
            entries = read_entries(path, RUN, topics)
        except DataError:
            found = None
        else:
            names = [list(topics)[code] for code in entries.topics.tolist()]
            found = list(zip(names, entries.docs.tolist(), entries.values.tolist(), strict=True))
        assert found == plainly_read(content), content
        outcomes.add(found is None)
    assert outcomes == {True, False}


@pytest.mark.parametrize("score", ["1e308", "-1e301", "1e400", "nan", "-inf"])
def test_a_score_beyond_what_can_be_compared_is_refused_with_its_line(tmp_path, score):
    run, qrels = written(tmp_path, run=f"301 Q0 d1 1 0.9 tag\n301 Q0 d2 2 {score} tag\n")
    with pytest.raises(
        SampleError, match=rf"x\.run:2: score: found '{score}'; a finite number is needed, from -1e\+300"
    ):
        read_ranked(run, qrels)
