# SPDX-License-Identifier: GPL-2.0-only
"""The tables of `report` and `top`, of which digits and long labels are cut."""
import re

import rule
from figures import Near
from rows import Rows

# Four digits are shown.
SHOWN_PART = 0.0006
LABEL_MOST = 28
TABLE_COLUMNS = ("cpu", "user", "kernel", "run_queue", "blocked", "share", "slices", "io_percent", "usable_threads")
GROUP_COLUMNS = ("requests", *TABLE_COLUMNS, "cpu_mean", "cpu_p50", "cpu_p99", "cpu_max", "wall_mean", "wall_p99",
                 "wall_max", "parked_mean", "switches")
REQUEST_COLUMNS = (*TABLE_COLUMNS, "wall", "parked", "switches")
MACHINE_COLUMNS = (*TABLE_COLUMNS, "cpu_percent", "switches", "migrations")
TOP_COLUMNS = ("rate", "cpu", "cpu_percent", "user", "kernel", "run_queue", "blocked", "cpu_p50", "cpu_p99",
               "wall_p50", "wall_p99", "requests", "syscalls_mean")
TOP_ROWS = 20
TOP_COMPARED = ("cpu", "user", "kernel", "run_queue", "blocked", "cpu_p50", "cpu_p99", "wall_p50", "wall_p99",
                "requests", "syscalls_mean")
COUNTS = {"requests", "slices", "switches", "migrations"}
UNITS = {"ns": 1, "us": 10 ** 3, "ms": 10 ** 6, "s": 10 ** 9}


def columns_of(by):
    if rule.is_of_all_time(by):
        return MACHINE_COLUMNS
    return REQUEST_COLUMNS if by == ("request_id",) else GROUP_COLUMNS


def full_name(column):
    """By which the other views have it."""
    names = {"share": "share_percent", "rate": "requests_per_second"}
    if column in COUNTS or column in ("syscalls_mean", "cpu_percent", "io_percent", "usable_threads"):
        return column
    return names.get(column, f"{column}_ns")


def as_shown(name, value):
    """A figure as a table has it, with few digits."""
    if isinstance(value, Near):
        if name.endswith("_ns"):
            return Near(value.value, value.part + SHOWN_PART, 1)
        return Near(value.value, value.part, 0.06 if value.value < 100 else 0.6, value.may_lack)
    return Near(value, SHOWN_PART, 0) if name.endswith("_ns") else value


def is_plain(label):
    return label[0].startswith("… ") or all(part.isascii() and len(part) <= LABEL_MOST for part in label)


def table_label(kind, label, by):
    if kind == "group":
        return tuple(part or f"(no {key})" for part, key in zip(label, by))
    return (f"(no {','.join(by)})",) if kind == rule.WITHOUT_KEY else (kind,)


def only_clear(rows):
    """Those of labels that are shown as they are, and are of one row."""
    labels = [label for label, _ in rows]
    return {("row", label, name): value for label, figures in rows if is_plain(label) and labels.count(label) == 1
            for name, value in figures.items() if value is not None}


def expect_table(recording, chosen, question, columns=None, top=0):
    rows = Rows(recording, chosen, question.by, top or question.top)
    names = [full_name(column) for column in columns or columns_of(question.by)]
    described = []
    for kind, label, row in rows.kinds():
        figures = rows.describe(kind, row)
        label = table_label(kind, label, question.by)
        if kind == "hidden":
            label = (f"… {len(rows.ranked()) - rows.top} more",)
        described.append((label,
                          {name: as_shown(name, figures[name]) for name in names if figures.get(name) is not None}))
    return only_clear(described)


def read_shown(cell):
    if cell == "-":
        return None
    words = cell.replace(",", "").split(" ")
    if len(words) == 2 and words[1] in UNITS:
        return float(words[0]) * UNITS[words[1]]
    return int(words[0]) if words[0].isdecimal() else float(words[0])


def read_table(lines, columns, compared):
    rows = []
    for line in lines:
        if line.startswith("─"):
            continue
        cells = re.split(" {2,}", line.strip(" "))
        values = [read_shown(cell) for cell in cells[-len(columns):]]
        figures = {full_name(column): value for column, value in zip(columns, values) if column in compared}
        rows.append((tuple(cells[:-len(columns)]), figures))
    return only_clear(rows)


def parse_table(output, question):
    lines = output.decode("utf-8", "surrogateescape").split("\n")
    begin = lines.index("") + 2
    columns = columns_of(question.by)
    return read_table(lines[begin:lines.index("", begin)], columns, columns)


def parse_top(output, question):
    """The last frame."""
    lines = output.decode("utf-8", "surrogateescape").rstrip("\n").split("\n")
    head = max(number for number, line in enumerate(lines) if line.startswith("correlator top"))
    lines = [line for line in lines[head + 3:-1] if len(re.split(" {2,}", line.strip(" "))) >= len(TOP_COLUMNS)]
    return read_table(lines, TOP_COLUMNS, TOP_COMPARED)


def expect_top(recording, chosen, question):
    """It has a row for what it has no room for."""
    return expect_table(recording, chosen, question, TOP_COMPARED, TOP_ROWS)
