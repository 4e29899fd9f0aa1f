"""Pages: what they hold, that they hold nothing else, and that no text of the data becomes markup."""

import base64
import hashlib
import json
import re
import shutil
from html.parser import HTMLParser

import pytest

from ltr import RunConfig, TrainConfig, run_batch, write_report
from ltr.errors import FileError, UsageError
from ltr.report.charts import Estimate, PlotPoint, bars, columns, estimates, front
from ltr.report.page import Figure, template_text
from ltr.report.table import Column, Table
from tests import hostile_strings
from tests.made import Commands, DataConfig, EvaluateConfig, page_of, save_run, tool_rows, written

ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "header", "nav", "main", "section", "footer", "h1", "h2", "h3"),
    *("p", "a", "ul", "li", "dl", "div", "dt", "dd", "strong", "span", "pre", "details", "summary", "figure"),
    *("figcaption", "svg", "desc", "text", "line", "rect", "circle", "polygon", "polyline"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td"),
}


BENCH = {
    "format": "ltr-bench/2",
    "name": "small",
    "seed": 0,
    "queries": 5,
    "documents": 20,
    "catalogue": False,
    "queries_in_data": 9,
    "sampled": True,
    "rules": {
        "deciding": "ndcg@10",
        "metrics": ["ndcg@10"],
        "metrics_version": 1,
        "evaluation": None,
        "interval_level": 0.95,
        "resamples": 2000,
        "permutations": 10000,
        "timed": 5,
        "repeats": 1,
        "warm_up": 1,
        "cost_weight": 1.0,
    },
    "rerankers": [
        {
            "name": name,
            "reranker": name,
            "what": "a reranker",
            "revision": "",
            "is_reference": False,
            "quality": {"ndcg@10": {"mean": mean, "low": mean - 0.1, "high": mean + 0.1}},
            "latency": {
                "mean_ms": ms,
                "std_ms": 1,
                "p50_ms": ms,
                "p95_ms": ms,
                "p99_ms": ms,
                "n": 5,
                "too_few": ["p99"],
            },
            "cold_start_ms": 3.0,
            "documents_per_second": 1e5,
            "peak_memory_mb": 40.0,
            "cost": {"total": 1.0, "per_query": 0.2, "per_document": 0.05},
            "balance": None,
            "is_on_front": True,
        }
        for name, mean, ms in (("bm25", 0.5, 0.1), ("hash", 0.7, 2.0))
    ],
    "left_out": [{"name": "minilm", "why": "not installed"}],
    "failed": [],
    "comparisons": [
        {
            "metric": "ndcg@10",
            "a": "hash",
            "b": "bm25",
            "difference": 0.2,
            "low": 0.1,
            "high": 0.3,
            "p": 0.01,
            "p_holm": 0.02,
        }
    ],
    "conclusions": {
        "best_quality": "hash",
        "lowest_latency": "bm25",
        "best_balance": "bm25",
        "front": ["bm25", "hash"],
    },
    "warnings": [],
}


class Parsed(HTMLParser):
    """What a browser would see of a page: elements in order with the names of their attributes, ids, text."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.ids, self.text, self.values = [], [], "", []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, tuple(name for name, _ in attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        self.values += attrs

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A batch of two small runs, and a bench."""
    home = tmp_path_factory.mktemp("made")
    train = str(written(home / "train.jsonl", tool_rows(range(12))))
    test = str(written(home / "test.jsonl", tool_rows(range(20, 30), seed=1)))
    configs = [
        RunConfig(
            name=name,
            data=DataConfig(train=(train,), test=(test,)),
            encoder="hash",
            train=TrainConfig(trainer=trainer, epochs=5),
            evaluate=EvaluateConfig(baselines=True, group_by="tool_description"),
        )
        for name, trainer in (("exact", "newton"), ("steps", "descent"))
    ]
    run_batch(configs, home / "runs")
    (home / "bench").mkdir()
    (home / "bench" / "bench.json").write_text(json.dumps(BENCH))
    return home


def pages(home):
    """A page of each kind."""
    runs = home / "runs"
    for directories in ([runs / "exact"], [runs / "exact", runs / "steps"], [runs], [home / "bench"]):
        yield page_of(directories)


def test_a_run_and_a_batch_keep_their_page_and_its_checksum(made):
    record = json.loads((made / "runs" / "exact" / "run.json").read_text())
    assert "report.html" in record["artifacts"]
    assert "examples.jsonl" in record["artifacts"]
    assert (made / "runs" / "report.html").exists()


def test_the_page_in_a_run_tells_no_time_and_no_machine(made, tmp_path):
    kept = (made / "runs" / "exact" / "report.html").read_text(encoding="utf-8")
    written_later = page_of([made / "runs" / "exact"], made="ltr, 2026-01-01")
    assert "machine:" not in kept
    assert "time:" not in kept
    assert "2026-01-01" in written_later
    assert "machine:" in written_later


def test_the_same_input_gives_the_same_page(made, tmp_path):
    samples = str(written(tmp_path / "train.jsonl", tool_rows(range(6))))
    config = RunConfig(name="twice", data=DataConfig(train=(samples,)), encoder="hash")
    contents = []
    for _ in range(2):
        save_run(config, tmp_path / "run", overwrite=True)
        contents.append((tmp_path / "run" / "report.html").read_bytes())
    assert contents[0] == contents[1]


@pytest.mark.parametrize("place", range(4), ids=["run", "several", "batch", "bench"])
def test_a_page_holds_all_it_shows(made, place):
    page = list(pages(made))[place]
    seen = Parsed(page)
    assert {tag for tag, _ in seen.elements} <= ALLOWED
    assert any(value.startswith("default-src 'none'; style-src 'sha256-") for name, value in seen.values if value)
    assert len(set(seen.ids)) == len(seen.ids)
    assert not [value for name, value in seen.values if name in ("src", "style") or name.startswith("on")]
    assert all(value.startswith("#") for name, value in seen.values if name == "href")
    assert "url(" not in page
    assert "@import" not in page


@pytest.mark.parametrize("place", range(4), ids=["run", "several", "batch", "bench"])
def test_every_drawing_has_a_title_a_description_and_its_numbers(made, place):
    tags = [tag for tag, _ in Parsed(list(pages(made))[place]).elements]
    assert tags.count("svg") == tags.count("desc") == tags.count("figcaption") > 0
    for start in (index for index, tag in enumerate(tags) if tag == "svg"):
        assert tags[start + 1 : start + 3] == ["title", "desc"]
    figures = [index for index, tag in enumerate(tags) if tag == "figure"]
    for start, end in zip(figures, [*figures[1:], len(tags)], strict=True):
        assert {"details", "table", "caption"} <= set(tags[start:end])


@pytest.mark.parametrize("place", range(4), ids=["run", "several", "batch", "bench"])
def test_headings_go_down_by_one(made, place):
    levels = [int(tag[1]) for tag, _ in Parsed(list(pages(made))[place]).elements if tag in ("h1", "h2", "h3")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(levels, levels[1:], strict=False))


def changed(made, home, text):
    """Copies of all there is, made of the text."""
    shutil.copytree(made, home)
    for name in ("exact", "steps"):
        hostile_strings.hostile_run(home / "runs" / name, text)
    hostile_strings.hostile_board(home / "runs", text)
    hostile_strings.hostile_bench(home / "bench", text)
    return home


@pytest.mark.parametrize("number", range(0, 600, 47))
def test_no_hostile_string_becomes_markup(made, tmp_path, number):
    text = list(hostile_strings.strings())[number]
    plain = [Parsed(page).elements for page in pages(changed(made, tmp_path / "plain", "plain words"))]
    for page, expected in zip(pages(changed(made, tmp_path / "hostile", text)), plain, strict=True):
        assert Parsed(page).elements == expected


def test_every_slot_shows_the_text_it_was_given(made, tmp_path):
    text = "<b>&amp;\"'"
    for page in pages(changed(made, tmp_path / "hostile", text)):
        assert Parsed(page).text.count(text) >= 10


def test_characters_that_turn_or_hide_text_are_written_out(made, tmp_path):
    page = next(pages(changed(made, tmp_path / "hostile", "a\u202eb\u200bc\x1b[31m")))
    assert "aU+202EbU+200BcU+001B[31m" in page
    assert not {"\u202e", "\u200b", "\x1b"} & set(page)


def test_the_card_of_a_model_marks_nothing_up(made, tmp_path):
    text = "<i> *a* [b](c) `d` | \n# e\n- f http://g"
    plain = page_of([changed(made, tmp_path / "plain", "x") / "runs" / "exact"], name="card.md")
    card = page_of([changed(made, tmp_path / "hostile", text) / "runs" / "exact"], name="card.md")
    assert card.count("\n") == plain.count("\n")
    assert "<i>" not in card
    assert "*a*" not in card.replace("\\*", "")
    assert "http://" not in card


def test_a_card_is_of_one_run(made, tmp_path):
    runs = made / "runs"
    write_report([runs / "exact"], tmp_path / "card.md")
    assert (tmp_path / "card.md").read_text().startswith("# exact\n")
    for directories in ([runs / "exact", runs / "steps"], [runs]):
        with pytest.raises(UsageError, match="a card is of one run"):
            write_report(directories, tmp_path / "other.md")


def test_a_page_of_runs_over_other_data_says_that_they_cannot_be_compared(made, tmp_path):
    samples = str(written(tmp_path / "train.jsonl", tool_rows(range(6))))
    save_run(RunConfig(name="other", data=DataConfig(train=(samples,)), encoder="hash"), tmp_path / "other")
    assert "cannot be compared" in page_of([made / "runs" / "exact", tmp_path / "other"])


def told(made, home, **fields):
    """The page of a run whose metrics.json says this as well."""
    shutil.copytree(made / "runs" / "exact", home)

    document = json.loads((home / "metrics.json").read_text("utf-8"))
    for name, value in fields.items():
        document[name] = document[name] | value if isinstance(value, dict) and document[name] else value
    (home / "metrics.json").write_text(json.dumps(document), "utf-8")
    return page_of([home])


def test_the_first_sentence_is_a_percentage_of_the_queries(made, tmp_path):
    interval = {"top1_accuracy": {"mean": 0.75, "low": 0.5, "high": 0.875}}
    values = {"metrics": {"top1_accuracy": 0.75}, "intervals": interval, "counts": {"num_queries": 40}}
    page = told(made, tmp_path / "run", **values)
    assert "right for 75.0 % of 40 queries (95 % interval: 50.0 % to 87.5 %)" in page.replace("\xa0", " ")


def compared(lead):
    """Fields of metrics.json: a lead over BM25, and none over a column."""
    return {"best_baseline": "bm25", "over_best_baseline": lead, "over_best_feature": None}


@pytest.mark.parametrize("units, is_sure", [(19, False), (20, True)])
def test_a_comparison_says_of_each_run_whether_it_beats_its_best_baseline(made, tmp_path, units, is_sure):
    lead = {"mean": 0.01, "low": -0.01, "high": 0.03}
    told(made, tmp_path / "a", **compared(lead), counts={"interval_num_units": units})
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    page = page_of([tmp_path / "a", tmp_path / "b"])
    assert page.count("is not shown to be better than BM25") == 2 * is_sure
    assert page.count(": too little was measured to be sure") == 2 * (not is_sure)


@pytest.mark.parametrize("units, is_sure", [(1, False), (19, False), (20, True)])
def test_a_handful_of_queries_proves_nothing(made, tmp_path, units, is_sure):
    lead = {"mean": 0.5, "low": 0.5, "high": 0.5}
    page = told(made, tmp_path / "run", **compared(lead), counts={"interval_num_units": units})
    assert ("It is better than BM25" in page) == is_sure
    assert ("Too little was measured to be sure" in page) != is_sure


def test_without_a_right_candidate_there_is_nothing_to_measure(made, tmp_path):
    counts = {"num_queries": 0, "interval_num_units": 0}
    page = told(made, tmp_path / "run", metrics={"top1_accuracy": None}, counts=counts)
    assert "Too little was measured" not in page
    assert "No query has a right candidate: there is nothing to measure." in page


def test_the_learning_section_says_what_the_weights_rest_on(made, tmp_path):
    page = page_of([made / "runs" / "exact"])
    for what in ("gradient norm", "groups that count, by weight", "condition number of the columns", "standard errors"):
        assert f">{what}</th>" in page
    assert "by trace, 8 clusters, that count as 2" in errors_told(
        made, tmp_path / "run", form="by_trace", clusters=8, effective_clusters=2.4
    )


def errors_told(made, home, **errors):
    """The page of a run whose model.json says this of its standard errors, and that its optimum is not proved."""
    shutil.copytree(made / "runs" / "exact", home)
    kept = json.loads((home / "model.json").read_text())
    kept["training"] |= {"errors": errors, "gap": None, "gap_bound": 0.25, "optimum": "not_reached"}
    (home / "model.json").write_text(json.dumps(kept))
    return page_of([home])


def test_a_page_says_how_far_an_optimum_that_is_not_proved_can_be(made, tmp_path):
    page = errors_told(made, tmp_path / "run", form=None, reason="few")
    assert "not proved to be the optimum, at most 0.25 above it." in page
    assert "Not proved to be the optimum. At most 0.25 above the optimum." in page


def test_the_things_to_look_at_are_counted_as_they_are_listed(made):
    page = page_of([made / "runs" / "steps"])
    listed = page.split(">What validation found</h2>")[1].split("</section>")[0].count("<li>")
    assert listed > 0
    assert f"found {listed} things to look at" in page


def test_an_evaluation_does_not_claim_that_its_data_were_looked_at(made, tmp_path):
    shutil.copytree(made / "runs" / "exact", tmp_path / "evaluation")
    for name in ("model.json", "run.json"):
        (tmp_path / "evaluation" / name).unlink()
    page = page_of([tmp_path / "evaluation"])
    assert "What validation found" not in page
    assert ">seed<" not in page


def test_a_long_query_is_whole_behind_a_short_line(made, tmp_path):
    page = next(pages(changed(made, tmp_path / "long", "q" * 300)))
    assert f"<summary>{'q' * 160}…</summary>" in page
    assert f"<p>{'q' * 300}</p>" in page


def test_what_an_older_run_lacks_is_left_out(made, tmp_path):
    shutil.copytree(made / "runs" / "exact", tmp_path / "old")
    for name in ("examples.jsonl", "curves.json", "history.jsonl", "model.json", "config.yaml", "run.json"):
        (tmp_path / "old" / name).unlink()
    page = page_of([tmp_path / "old"])
    assert "Instructive queries" not in page
    assert "Metrics" in page


@pytest.mark.parametrize("content", ["", "[1]", '{"top1_accuracy":', '{"top1_accuracy": NaN}'])
def test_metrics_that_cannot_be_read_are_refused_by_name(made, tmp_path, content):
    shutil.copytree(made / "runs" / "exact", tmp_path / "bad")
    (tmp_path / "bad" / "metrics.json").write_text(content)
    with pytest.raises(FileError, match=r"metrics\.json: not what ltr writes"):
        page_of([tmp_path / "bad"])


@pytest.mark.parametrize("value", [1e300, -1e300])
def test_numbers_too_large_to_draw_stand_in_the_table_only(value):
    blank = Figure("title", "description", Table((Column("a", "a"),), (), "numbers"))
    assert estimates(blank, [Estimate("large", value)]) is None
    assert estimates(blank, [Estimate("large", value), Estimate("small", 1.0)]).height > 0


@pytest.mark.parametrize("low, high", [(-0.1, 0.2), (0.0, 0.2), (-0.2, 0.0)])
def test_differences_stand_over_a_line_where_0_is(low, high):
    blank = Figure("differences", "", Table((), ()))
    drawn = estimates(blank, [Estimate("top-1", (low + high) / 2, low, high)], zero=True)
    assert sum(mark.attributes["class"] == "axis" for mark in drawn.marks) == 1


@pytest.mark.parametrize("name, what", [("steps", "before its own step"), ("exact", "The objective of each step")])
def test_the_learning_curve_says_what_its_loss_is(made, name, what):
    assert what in page_of([made / "runs" / name])


def test_a_drawing_says_how_many_of_its_rows_it_leaves_out():
    blank = Figure("title", "Bars.", Table((Column("a", "a"),), (), "numbers"))
    rows = [(str(number), 1.0, "") for number in range(50)]
    assert bars(blank, rows).description == "Bars. The first 40 of 50 are drawn."
    assert bars(blank, rows[:40]).description == "Bars."


def test_numbers_of_points_at_one_place_stand_apart_and_on_the_drawing():
    blank = Figure("title", "description", Table((Column("a", "a"),), (), "numbers"))
    figure = front(blank, [PlotPoint(str(number), 10.0, 0.5) for number in range(6)], ("ms", "ndcg@10"))
    numbers = [mark.attributes for mark in figure.marks if mark.attributes.get("class") == "number"]
    places = [(each["x"], each["y"]) for each in numbers]
    pairs = [(one, other) for one in places for other in places if one != other]
    assert len(set(places)) == 6
    assert all(abs(one[0] - other[0]) >= 15 or abs(one[1] - other[1]) >= 11 for one, other in pairs)
    assert all(x + 15 <= figure.width for x, _ in places)


def test_both_edges_of_the_ranks_say_what_they_are():
    blank = Figure("title", "description", Table((Column("a", "a"),), (), "numbers"))
    figure = columns(blank, [("1", 3, ""), ("2", 1, "")], ("rank", "queries"))
    assert [mark.text for mark in figure.marks if mark.attributes.get("class") == "note"] == ["rank", "queries"]


def test_the_examples_of_a_run_are_few_and_short(tmp_path):
    rows = [{**row, "query": row["query"] + "y" * 5000} for row in tool_rows(range(60))]
    samples = str(written(tmp_path / "train.jsonl", rows))
    save_run(RunConfig(name="long", data=DataConfig(train=(samples,)), encoder="hash"), tmp_path / "run")
    lines = [json.loads(line) for line in (tmp_path / "run" / "examples.jsonl").read_text().splitlines()]
    assert 0 < len(lines) <= 20
    assert max(len(line["query"]) for line in lines) == 2000


def test_the_reliability_of_the_first_choice_is_kept_whether_it_was_asked_for_or_not(made):
    assert "reliability_first" in json.loads((made / "runs" / "exact" / "curves.json").read_text())


class TestCommand:
    @pytest.fixture
    def ltr(self, monkeypatch, capfd):
        return Commands(monkeypatch, capfd)

    def test_the_page_says_when_it_was_written(self, ltr, made, tmp_path):
        ltr.good("report", made / "runs", "-o", tmp_path / "page.html")
        assert "UTC" in (tmp_path / "page.html").read_text(encoding="utf-8")

    def test_a_page_is_not_replaced_unasked(self, ltr, made, tmp_path):
        page = tmp_path / "page.html"
        page.write_text("mine")
        assert ltr.refused("report", made / "runs", "-o", page) == (
            2,
            f"{page}: exists; add --overwrite, or choose another name",
        )
        ltr.good("report", made / "runs", "-o", page, "--overwrite")

    def test_another_ending_is_refused(self, ltr, made, tmp_path):
        code, error = ltr.refused("report", made / "runs", "-o", tmp_path / "page.pdf")
        assert (code, "ends in .html" in error) == (2, True)

    def test_a_directory_that_is_none_is_named(self, ltr, tmp_path):
        code, error = ltr.refused("report", tmp_path / "nothing", "-o", tmp_path / "page.html")
        assert code == 3
        assert "nothing" in error

    def test_a_batch_among_others_is_refused(self, ltr, made, tmp_path):
        directories = (made / "runs", made / "runs" / "exact")
        code, error = ltr.refused("report", *directories, "-o", tmp_path / "page.html")
        assert (code, "a page of its own" in error) == (2, True)


def test_the_style_of_a_page_is_the_one_its_policy_allows(made):
    page = next(pages(made))
    assert f"<style>{template_text('style.css')}</style>" in page
    allowed = base64.b64encode(hashlib.sha256(template_text("style.css").encode()).digest()).decode()
    assert f"sha256-{allowed}&#39;" in page.replace("&#43;", "+")


def test_the_leaderboard_names_the_metric_of_its_interval_and_a_directory_only_where_names_do_not_tell(made, tmp_path):
    page = page_of([made / "runs"])
    assert ">95 % MRR</th>" in page
    assert ">directory</th>" not in page
    shutil.copytree(made / "runs", tmp_path / "runs")
    board = json.loads((tmp_path / "runs" / "leaderboard.json").read_text())
    board["rows"][0]["directory"] = "elsewhere"
    (tmp_path / "runs" / "leaderboard.json").write_text(json.dumps(board))
    assert ">elsewhere</td>" in page_of([tmp_path / "runs"])


def test_the_conclusions_of_a_bench_have_their_figures(made):
    page = page_of([made / "bench"])
    assert "Best quality: hash, ndcg@10 0.700 in 2 ms a query." in page
    assert "Lowest latency: bm25, ndcg@10 0.500 in 0.1 ms a query." in page


def test_the_policy_stands_before_all_it_holds_for(made):
    for page in pages(made):
        assert page.index('<head>\n<meta http-equiv="Content-Security-Policy"') > 0
        assert len(page[: page.index('charset="utf-8"')].encode()) < 1024  # browsers look no further


def colours(scheme):
    """The colours of the style, light or dark, as their names call them."""
    found = re.findall(r":root{(--page[^}]*)}", template_text("style.css"))[scheme]
    pairs = (each.removeprefix("--").split(":#") for each in found.split(";"))
    return {name: [int(each, 16) for each in re.findall("..", code * (6 // len(code)))] for name, code in pairs}


def contrast(one, other):
    """(lighter + 0.05) / (darker + 0.05), by relative luminance."""
    linear = [[((each / 255 + 0.055) / 1.055) ** 2.4 for each in colour] for colour in (one, other)]
    light = sorted(0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in linear)
    return (light[1] + 0.05) / (light[0] + 0.05)


@pytest.mark.parametrize("scheme", range(3), ids=["light", "dark", "print"])
def test_texts_and_marks_stand_out_from_what_is_behind_them(scheme):
    found = colours(scheme)
    grounds = [found.pop(name) for name in ("page", "fill", "marked")]
    found.pop("line")  # the grid, which nobody needs to read
    assert min(contrast(colour, ground) for colour in found.values() for ground in grounds) >= 4.5
    opacity = float(re.search(r"stroke-opacity:([.\d]+)", template_text("style.css")).group(1))
    faint = [opacity * own + (1 - opacity) * page for own, page in zip(found["own"], grounds[0], strict=True)]
    assert contrast(faint, grounds[0]) >= 3


def test_nothing_is_marked_safe_in_the_template():
    assert "safe" not in template_text("page.html.j2")
    assert "autoescape" not in template_text("page.html.j2")
