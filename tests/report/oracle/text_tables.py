# SPDX-License-Identifier: GPL-2.0-only
"""
The tables of `report --over-time`, `--syscalls` and `--stacks`, of which digits are cut, and long labels left out. Of
stacks these are the methods with at least a hundredth of what was spread.
"""
import collections
import math
import re

import rule
import spread
import stacks
from figures import Near, shown_label
from tables import SHOWN_PART, as_shown, is_plain, read_shown, table_label

STEP_COLUMNS = ("requests", "cpu", "user", "kernel", "run queue", "blocked", "unattributed")
LINE_COLUMNS = ("requests", "cpu", "peak")
CALL_COLUMNS = ("requests", "calls", "inside")
METHOD = re.compile(r" *[\d.]+ %(?: +[\d.]+)? +([\d.]+ \w+) +[\d.]+ %(?: +[\d.]+)? +([\d.]+ \w+)   (.*)")
SHARE_LEAST = 0.01


def read_cells(header, line):
    """{name of a column: what is in it}, of those whose cells end where their names end; the rest is the label, ""."""
    ends = [(found.group(), found.end()) for found in re.finditer(r"\S+(?: \S+)*", header)]
    cells = {}
    for name, end in ends[1:]:
        is_there = len(line) >= end and line[end - 1] != " " and line[end:end + 1] in ("", " ")
        cells[name] = re.split(" {2,}", line[:end])[-1] if is_there else ""
    return cells


def read_figures(header, line, columns):
    cells = read_cells(header, line)
    figures = {name: read_shown(cells[name]) for name in columns if cells[name]}
    return {name: value for name, value in figures.items() if value is not None}


def cost_figures(costs, names):
    figures = {name: costs.get(f"{name.replace(' ', '_')}_ns") for name in names}
    return {name: as_shown("_ns", value) for name, value in figures.items() if value is not None}


def without_doubles(rows):
    """Of (path, figures) those whose labels are of one row and shown as they are."""
    paths = [path for path, _ in rows]
    return {(*path, name): value for path, figures in rows if is_plain(path[1] or ("",)) and paths.count(path) == 1
            for name, value in figures.items()}


def expect_over_time(recording, chosen, question):
    steps, lines = chosen.steps(question.by, question.step_ns)
    rows = [(("step", (str(number),)), describe_step(steps[span])) for number, span in enumerate(sorted(steps))]
    rows.append((("step", ("total",)), describe_step(lines)))
    for place, row in lines.rows.items():
        if place == rule.WITHOUT_KEY or isinstance(place, tuple):
            peak_ns = max(table.rows[place].costs.sums["cpu_ns"] for table in steps.values() if place in table.rows)
            figures = cost_figures(row.costs, ("cpu",)) | ({"requests": len(row.requests)} if row.requests else {})
            figures |= {"peak": as_shown("_ns", peak_ns)} if "cpu" in figures else {}
            label = table_label("group", shown_label(place, question.by), question.by)
            rows.append((("line", label), figures))
    return without_doubles(rows)


def describe_step(table):
    if not table.total.costs.record_count:
        return {}
    figures = cost_figures(table.total.costs, ("cpu", "user", "kernel", "run queue", "blocked"))
    figures |= {"requests": len(table.total.requests)} if table.total.requests else {}
    unattributed = table.other(rule.UNATTRIBUTED)
    unattributed_ns = unattributed.costs.get("cpu_ns") if unattributed else 0 if "cpu" in figures else None
    return figures | ({"unattributed": as_shown("_ns", unattributed_ns)} if unattributed_ns is not None else {})


def blocks_of(output):
    """The lines between empty ones, without those that are drawn."""
    blocks = output.decode("utf-8", "surrogateescape").rstrip("\n").split("\n\n")
    return [[line for line in block.split("\n") if not line.startswith("─")] for block in blocks]


def parse_over_time(output, question):
    blocks = blocks_of(output)
    at = [block[0].startswith("began") for block in blocks].index(True)
    header, *steps = blocks[at]
    names = [*map(str, range(len(steps) - 1)), "total"]
    rows = [(("step", (name,)), read_figures(header, line, STEP_COLUMNS)) for name, line in zip(names, steps)]
    header, *lines = blocks[at + 1] if blocks[at + 1][0].startswith(question.by[0]) else [""]
    for line in lines:
        label = tuple(re.split(" {2,}", line.strip(" "))[:len(question.by)])
        rows.append((("line", label), read_figures(header, line, LINE_COLUMNS)))
    return without_doubles(rows)


def expect_syscalls(recording, chosen, question):
    key, rows, total = question.by[0], [], [0, 0]
    for place, group in chosen.syscalls(question.by).items():
        label = shown_label(place, question.by)[0] if isinstance(place, tuple) else \
            f"(no {key})" if place == rule.WITHOUT_KEY else place
        sums = [sum(call[number] for call in group["calls"].values()) for number in (0, 1)]
        total = [total[0] + sums[0], total[1] + sums[1]]
        figures = describe_calls(sums) | ({"requests": group["requests"]} if group["requests"] else {})
        rows.append((("group", (label,)), figures))
        rows += [(("call", (label, call)), describe_calls(numbers)) for call, numbers in group["calls"].items()]
    return without_doubles([*rows, (("group", ("total",)), describe_calls(total))])


def describe_calls(sums):
    return {"calls": as_shown("calls", min(sums[0], rule.MOST)), "inside": as_shown("_ns", min(sums[1], rule.MOST))}


def parse_syscalls(output, question):
    header, *lines = blocks_of(output)[0]
    rows, group = [], ""
    for line in lines:
        name = re.split(" {2,}", line.strip(" "))[0]
        is_call = line.startswith(" ")
        group = group if is_call else name
        path = ("call", (group, name)) if is_call else ("group", (name,))
        rows.append((path, read_figures(header, line, CALL_COLUMNS)))
    return without_doubles(rows)


def method_label(method):
    """The name, and where it is defined: of native code and of the kernel in which file alone."""
    name, file, first_line, kind = method
    place = file and (file if kind == "ruby" else file.rpartition("/")[2])
    return name + (f" {place}:{first_line}" if place and first_line else f" {place}" if place else "")


def expect_methods(recording, chosen, question):
    """Of methods with one label it is not known which are shown."""
    is_waits = question.is_of_waits
    found, slack = spread.Spread(chosen, is_waits), stacks.slack_of(recording, chosen, question)
    methods = spread.methods_of(recording, found, is_waits)
    labels = collections.Counter(map(method_label, methods))
    rows = {}
    for method, (self_ns, total_ns) in methods.items():
        label = method_label(method)
        room = slack if labels[label] == 1 else math.inf
        share = self_ns / found.sampled_ns if found.sampled_ns else 0
        may_lack = room == math.inf or share < SHARE_LEAST + 0.001 or self_ns < 1000
        rows["method", (label,)] = {name: Near(float(ns), SHOWN_PART, room, may_lack)
                                    for name, ns in (("self", self_ns), ("total", total_ns))}
    return without_doubles(list(rows.items()))


def parse_methods(output, question):
    lines = output.decode("utf-8", "surrogateescape").split("\n")
    begin = next((number for number, line in enumerate(lines) if line.startswith("    self")), len(lines))
    rows = []
    for line in lines[begin + 1:]:
        found = METHOD.fullmatch(line)
        if found:
            figures = {name: read_shown(found[number]) for number, name in ((1, "self"), (2, "total"))}
            rows.append((("method", (found[3],)), figures))
    return without_doubles(rows)
