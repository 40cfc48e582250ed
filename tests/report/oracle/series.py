# SPDX-License-Identifier: GPL-2.0-only
"""What was used in each window, or each step."""
import rule
from figures import csv_rows, csv_text, each_line, load, read_row, shown_label
from rows import describe_costs, label_of


def expect_steps(recording, chosen, question):
    steps, lines = chosen.steps(question.by, question.step_ns)
    figures = {}
    for span, table in [*steps.items(), (None, lines)]:
        at = () if span is None else span
        for place, row in table.rows.items():
            kind = "group" if place == rule.WITHOUT_KEY or isinstance(place, tuple) else place
            label = shown_label(place, question.by) if kind == "group" else ()
            if span is not None or (kind == "group" and question.view == "over time json"):
                figures |= describe_step(kind, at + label, row)
        figures |= describe_step("total" if span is None else "step", at, table.total)
    return figures


def describe_step(kind, label, row):
    figures = describe_costs(row.costs) if row.costs.record_count else {}
    if row.requests:
        figures["requests"] = len(row.requests)
    return {(kind, label, name): value for name, value in figures.items() if name != "children_cpu_ns"}


def parse_steps_json(output, question):
    report, by = load(output), question.by
    names = {*rule.COSTS, "requests"}
    figures = read_row("total", (), report["total"], names)
    for row in report["groups"]:
        figures |= read_row("group", label_of(row, by), row, names)
    for step in report["steps"]:
        span = step["start_ns"], step["end_ns"]
        figures |= read_row("step", span, step, names)
        for row in step["groups"]:
            figures |= read_row("group", span + label_of(row, by), row, names)
        for kind in (rule.UNATTRIBUTED, rule.OVERFLOW):
            figures |= read_row(kind, span, step.get(kind, {}), names)
    return figures


def parse_steps_ndjson(output, question):
    figures = {}
    for row in each_line(output):
        label = tuple(row[name] for name in ("start_ns", "end_ns") if name in row)
        label += label_of(row, question.by) if row["row"] == "group" else ()
        figures |= read_row(row["row"], label, row, {*rule.COSTS, "requests"})
    return figures


def parse_steps_csv(output, question):
    heading, rows = csv_rows(output)
    figures, begin = {}, 3 + len(question.by)
    for row in rows:
        label = tuple(int(cell) for cell in row[1:3] if cell)
        if row[0] == "group":
            label += tuple(csv_text(cell) or None for cell in row[3:begin])
        cells = {name: int(cell) for name, cell in zip(heading[begin:], row[begin:]) if cell}
        figures |= read_row(row[0], label, cells, {*rule.COSTS, "requests"})
    return figures
