# SPDX-License-Identifier: GPL-2.0-only
"""What `report --diff` says of two recordings: the figures of each group on both sides, and which differ."""
import re

import chance
import pairs
import rule
from figures import HISTOGRAM_PART, Near, csv_rows, csv_text, each_line, load, shown_label
from rows import describe_costs
from tables import as_shown, is_plain, read_shown

SIDES = ("before", "after")
FIGURES = ("cpu_mean", "cpu_p99", "wall_mean", "wall_p99")
# Requests on each side that a test needs. No recording here has as many as a 99th percentile does.
OF_TESTS = ("MORE", "LESS", "equal", "no significant change")
NEEDED = {"mean": chance.MEAN_NEEDED, "p99": 368}


def both_sides(recording, chosen, question):
    other, other_chosen = pairs.read_other(question)
    with_host = recording.has_several_hosts or other.has_several_hosts
    return [selection.table(question.by, with_host=with_host) for selection in (chosen, other_chosen)]


def each_row(recording, chosen, question):
    """(kind, label, [Row or None of each side])."""
    tables = both_sides(recording, chosen, question)
    for place in {place: None for table in tables for place in table.groups()}:
        yield "group", shown_label(place, question.by), [table.groups().get(place) for table in tables]
    yield "all", (), [table.total for table in tables]


def describe_figure(name, rows):
    """{} where one side does not know it."""
    what, which = name.split("_")
    values = [row.distribution(what) if row else [] for row in rows]
    if any(not known or len(known) != len(row.requests) for known, row in zip(values, rows)):
        return {}
    if which == "mean":
        ends = [chance.mean_ns(known) for known in values]
        return dict(zip(chance.ENDS, ends)) | chance.describe_test(*values)
    ends = [Near(rule.percentile(known, 99), HISTOGRAM_PART, 0) for known in values]
    return dict(zip(chance.ENDS, ends))


def describe_side(row):
    counts = {"requests": len(row.requests)} if row.requests else {}
    return counts | (describe_costs(row.costs) if row.costs.record_count else {})


def expect_rows(recording, chosen, question):
    figures = {}
    for kind, label, rows in each_row(recording, chosen, question):
        for side, row in zip(SIDES, rows):
            figures |= {(kind, label, f"{side} {name}"): value
                        for name, value in (describe_side(row) if row else {}).items()}
        for name in FIGURES:
            figures |= {(kind, label, f"{name} {of}"): value for of, value in describe_figure(name, rows).items()}
    return figures


def expect_json(recording, chosen, question):
    figures = expect_rows(recording, chosen, question)
    tested = sum(path[2].endswith("is_in_order") for path in figures)
    return figures | {("tests", (), "tested"): tested, ("tests", (), "is_changed_right"): True,
                      ("rows", (), "are in order"): True}


def label_of(row, by):
    if "key" not in row and "keys" not in row:
        return ()
    return (row["key"],) if len(by) == 1 else tuple(row["keys"].get(key) for key in by)


def read_row(kind, row, by):
    figures, label = {}, label_of(row, by) if kind == "group" else ()
    for side in SIDES:
        figures |= {(kind, label, f"{side} {name}"): value for name, value in row.get(side, {}).items()}
    for name in FIGURES:
        figure = row.get(name, {})
        figures |= {(kind, label, f"{name} {of}"): value for of, value in chance.read_figure(figure).items()}
    return figures


def parse_json(output, question):
    report = load(output)
    figures = read_row("all", report["all"], question.by)
    for row in report["rows"]:
        figures |= read_row("group", row, question.by)
    changed = sum(row.get(name, {}).get("changed", False) for row in [*report["rows"], report["all"]]
                  for name in FIGURES)
    order = [(not has_changed(row), -cpu_ns(row)) for row in report["rows"] if cpu_ns(row) is not None]
    return figures | {("rows", (), "are in order"): order == sorted(order), ("tests", (), "tested"): report["tested"],
                      ("tests", (), "is_changed_right"): report["changed"] == changed}


def has_changed(row):
    return any(row.get(name, {}).get("changed") for name in FIGURES)


def cpu_ns(row):
    """Of both sides; None: one of them does not know it."""
    known = [row[side].get("cpu_ns") for side in SIDES if side in row]
    return None if None in known else min(sum(known), rule.MOST)


def parse_ndjson(output, question):
    figures = {}
    for row in each_line(output):
        figures |= read_row(row["row"], row, question.by)
    return figures


def read_cells(cells):
    """A row of CSV as JSON has it, but for its keys."""
    row = {side: {name.removeprefix(f"{side}_"): int(value) for name, value in cells.items()
                  if name.startswith(f"{side}_") and value} for side in SIDES}
    return row | {name: chance.read_cells(cells, name) for name in FIGURES}


def parse_csv(output, question):
    heading, rows = csv_rows(output)
    figures, count = {}, len(question.by)
    for row in rows:
        label = [csv_text(cell) or None for cell in row[1:1 + count]]
        keys = {"key": label[0]} if count == 1 else {"keys": dict(zip(question.by, label))}
        figures |= read_row(row[0], read_cells(dict(zip(heading[1 + count:], row[1 + count:]))) | keys, question.by)
    return figures


def verdict_of(name, rows):
    """The words of a line, None where it says that the figure is tested or that all values are equal."""
    if not all(rows):
        return "gone" if rows[0] else "new"
    if not describe_figure(name, rows):
        return "not measured"
    needed = NEEDED[name.split("_")[1]]
    if min(len(row.requests) for row in rows) < needed:
        return f"too few to tell: {needed} needed"
    return None


def table_label(label, by):
    return tuple(part or f"(no {key})" for part, key in zip(label, by)) or ("all requests",)


def expect_table(recording, chosen, question):
    lines = []
    for _, label, rows in each_row(recording, chosen, question):
        label = table_label(label, question.by)
        counts = " → ".join(f"{len(row.requests) if row else 0}" for row in rows)
        for name in FIGURES if all(rows) else FIGURES[:1]:
            figure = describe_figure(name, rows)
            figures = {end: as_shown(end, figure[end]) for end in chance.ENDS if end in figure}
            line = figures | {"requests": counts, "verdict": verdict_of(name, rows)}
            lines.append((label, name if all(rows) else "-", line))
    return only_clear(lines)


def only_clear(lines):
    labels = [(label, name) for label, name, _ in lines]
    return {("line", (*label, name), of): value for label, name, line in lines for of, value in line.items()
            if is_plain(label) and labels.count((label, name)) == 1 and value is not None}


def parse_table(output, question):
    text = output.decode("utf-8", "surrogateescape").split("\n")
    begin = text.index("") + 2
    lines, label, counts = [], (), ""
    for line in text[begin:text.index("", begin)]:
        if line.startswith("─"):
            continue
        cells = re.split(" {2,}", line.strip(" "))
        name, before, after, _, _, verdict = cells[-6:]
        if len(cells) > 6:  # the first line of a row
            label, counts = tuple(cells[:-7]), cells[-7]
        figures = {"before_ns": read_shown(before), "after_ns": read_shown(after), "requests": counts,
                   "verdict": None if verdict in OF_TESTS else verdict}
        lines.append((label, name.replace(" ", "_"), figures))
    return only_clear(lines)
