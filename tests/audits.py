"""Samples with something wrong in them, and what the audit finds there."""

from ltr import audit_samples
from tests.builders import graph_lines, tool_lines, write_lines

CLEAN = {"tool": list(tool_lines(traces=40)), "graph": list(graph_lines(traces=60))}


def findings_of(tmp_path, lines, **options):
    """The findings by code; the last of a code that comes several times."""
    report = audit_samples(str(write_lines(tmp_path / "s.jsonl", lines)), **options)
    return {finding.code: finding for finding in report.findings}


def changed(lines, **fields):
    """The lines with fields computed from them."""
    return [{**line, **{name: compute(line) for name, compute in fields.items()}} for line in lines]


def alarms(findings):
    return {code for code, finding in findings.items() if finding.severity != "info"}


def one_group(labels, **fields):
    return [
        {"trace_id": "t", "node_id": "n", "query": "q", "tool": f"tool{n}", "tool_description": f"d{n}", "label": label}
        | fields
        for n, label in enumerate(labels)
    ]
