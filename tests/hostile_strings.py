"""Strings that run script, open dialogs or fetch wherever a page forgets to escape, and results made of them."""

import itertools
import json

CALL = "fired({n})"
VECTORS = (
    *("<script>{call}</script>", "<ScRiPt>{call}</sCrIpT>", "<svg><script>{call}</script>"),
    *("<script/x>{call}</script>", "<img src=x onerror={call}>", "<img src=x onerror='{call}'>"),
    *('<IMG SRC="x" OnErRoR="{call}">', "<img/src='x'/onerror={call}>", "<img src=x onerror={call}//"),
    *("<svg onload={call}>", "<svg/onload={call}>", "<svg><script>{call}</script></svg>"),
    *("<svg><image href=x onerror={call}></svg>", "<svg><animate onbegin={call} attributeName=x dur=1s>"),
    *("<details open ontoggle={call}>x</details>", "<video src=x onerror={call}></video>"),
    *("<audio src=x onerror={call}></audio>", "<video><source onerror={call}></video>"),
    *("<object data=x onerror={call}></object>", '<iframe srcdoc="<script>parent.{call}</script>"></iframe>'),
    *("<iframe onload={call}></iframe>", '<style onload="{call}">a</style>'),
    '<link rel=stylesheet href="data:text/css," onload={call}>',
    *("<body onpageshow={call}>", "<img src=x onerror=\"alert('{n}')\" alt={n}>"),
)
PREFIXES = (
    *("", "weather in Paris? ", '">', "'>", "</title>", "</style>", "</textarea>", "</script>", "-->", "]]>"),
    *("</svg></p>", "</pre></td></table>", '" onmouseover="x" x="', "\\\"'/>", "&lt;b&gt;"),
    *("{{{{ 7 * 7 }}}} {{% raw %}}", "\u202e\u2066", "\u200b\ufeff", "é漢字🙂", "](javascript:0) ![x](y) "),
    *("[a]: x\n# ", "javascript:", "%3Cb%3E", "line\r\nline\t"),
)
COUNT = 600


def strings(count=COUNT):
    """Yield the first so many: each vector behind each opening, numbered."""
    pairs = itertools.islice(itertools.cycle(itertools.product(PREFIXES, VECTORS)), count)
    for n, (prefix, vector) in enumerate(pairs):
        yield prefix.format() + vector.format(n=n, call=CALL.format(n=n))


def rewritten(value, text, kept=()):
    """Return the document with the text in place of every string, but under the keys that are kept."""
    if isinstance(value, dict):
        named = {key: rewritten(each, text, kept) for key, each in value.items() if key not in kept}
        return {**named, **{key: value[key] for key in kept if key in value}}
    if isinstance(value, list):
        return [rewritten(each, text, kept) for each in value]
    return text if isinstance(value, str) else value


def renamed(value, text):
    """Return the mapping with the text before a number as each key."""
    return {f"{text} {number}": each for number, each in enumerate(value.values())}


def hostile_run(home, text):
    """Make every string of the run that lies there the text; what tells how to read it stays."""
    change(home / "run.json", lambda each: {**rewritten(each, text, ("format", "status")), "machine": {text: text}})
    change(home / "model.json", lambda each: hostile_model(each, text))
    change(home / "metrics.json", lambda each: hostile_metrics(each, text))
    for name, kept in {"examples.jsonl": ("kind",), "per_query.jsonl": ("trace_id", "node_id")}.items():
        lines = [json.loads(line) for line in (home / name).read_text("utf-8").splitlines()]
        (home / name).write_text("".join(json.dumps(rewritten(each, text, kept)) + "\n" for each in lines), "utf-8")
    (home / "config.yaml").write_text(f"name: {text}\n", "utf-8")


def hostile_model(model, text):
    """Return a model of such features."""
    model = {**rewritten(model, text, ("format", "kind")), "trainer": model["trainer"]}
    training = {**model["training"], "optimum": "not_reached", "escape": None, "errors": {"form": None, "reason": text}}
    return {**model, "training": {**training, "weights": renamed(training["weights"], text)}}


def hostile_metrics(metrics, text):
    """Return metrics of such names, rules and parts; those that every page shows keep theirs."""
    kept = ("format", "metrics_version", "fingerprint", "ties", "gain", "no_relevant")
    part = {"name": text, "num_queries": 2, "metrics": dict.fromkeys(("top1_accuracy", "top3_accuracy", "mrr"), 0.5)}
    changed = rewritten(metrics, text, kept)
    changed["rules"] = rewritten(metrics["rules"], text, kept)
    changed["metrics"] = metrics["metrics"] | {text: 0.5}
    changed["intervals"] = metrics["intervals"] | {text: {"mean": 0.5, "low": 0.4, "high": 0.6}}
    return {**changed, "breakdown": {"field": text, "parts": [part]}}


def hostile_board(home, text):
    """Make the names, sweeps, errors and reasons of the batch the text."""

    def board(found):
        new = {"sweep": {text: text}, text: 0.5, "status": "complete", "error": None}
        rows = [{**rewritten(row, text), **new} for row in found["rows"]]
        failed = {**rows[0], "place": None, "error": text, "status": "failed"}
        return {**rewritten(found, text, ("format",)), "rows": [*rows, failed], "untested": text}

    change(home / "leaderboard.json", board)


def hostile_bench(home, text):
    """Do the same to a bench."""

    def bench(found):
        rows = [{**row, "quality": renamed(row["quality"], text)} for row in rewritten(found["rerankers"], text)]
        missing = [{"name": text, "why": text}]
        numbers = {"difference": 0.1, "low": 0.0, "high": 0.2, "p": 0.5, "p_holm": 0.5}
        test = {"metric": text, "a": text, "b": text, **numbers}
        metrics = list(rows[0]["quality"])
        rules = {**rewritten(found["rules"], text), "deciding": metrics[0], "metrics": metrics}
        said = dict.fromkeys(("best_quality", "lowest_latency", "best_balance"), text) | {"front": [text]}
        changed = {"rerankers": rows, "left_out": missing, "failed": missing, "comparisons": [test], "rules": rules}
        return {**rewritten(found, text, ("format",)), **changed, "conclusions": said, "warnings": [text]}

    change(home / "bench.json", bench)


def change(path, how):
    """Change the JSON file."""
    path.write_text(json.dumps(how(json.loads(path.read_text("utf-8")))), "utf-8")
