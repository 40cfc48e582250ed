# SPDX-License-Identifier: GPL-2.0-only
"""The system calls of `report --syscalls`."""
import rule
from figures import csv_rows, csv_text, each_line, load, read_row, shown_label


def expect_syscalls(recording, chosen, question):
    figures = {}
    sums = dict.fromkeys(("syscalls", "inside_ns", "account_syscalls"), 0)
    is_csv = question.view != "syscalls json"  # a line for each call
    for place, group in chosen.syscalls(question.by).items():
        path = ("group", shown_label(place, question.by)) if isinstance(place, tuple) else (place, ())
        counts = [sum(call[number] for call in group["calls"].values()) for number in (0, 1)]
        whole = {"syscalls": counts[0], "inside_ns": counts[1], "account_syscalls": group["account_syscalls"]}
        sums = {name: value + whole[name] for name, value in sums.items()}
        if group["requests"] and (group["calls"] or not is_csv):
            figures[*path, "requests"] = group["requests"]
        for call, numbers in group["calls"].items():
            figures |= {(*path, f"{call} {name}"): min(number, rule.MOST)
                        for name, number in zip(("calls", "inside"), numbers)}
        if not is_csv:
            figures |= {(*path, name): min(value, rule.MOST) for name, value in whole.items()}
    if not is_csv:
        figures |= {("total", (), name): min(value, rule.MOST) for name, value in sums.items()}
    return figures


def member_of(key):
    """Where a group's value is: under its key's name, unless that is a member of all groups."""
    others = "row", "requests", "syscalls", "account_syscalls", "inside_ns", "calls", "syscall"
    return "key" if key in others else key


def parse_syscalls_json(output, question):
    report = load(output)
    names = {"syscalls", "inside_ns", "account_syscalls", "requests"}
    figures = read_row("total", (), report["total"], names)
    for group in report["groups"]:
        label = (group[member_of(question.by[0])],) if group["row"] == "group" else ()
        figures |= read_row(group["row"], label, group, names)
        for call in group["calls"]:
            figures |= {(group["row"], label, f"{call['syscall']} calls"): call["syscalls"],
                        (group["row"], label, f"{call['syscall']} inside"): call["inside_ns"]}
    return figures


def parse_syscalls_ndjson(output, question):
    figures = {}
    for row in each_line(output):
        path = row["row"], (row[member_of(question.by[0])],) if row["row"] == "group" else ()
        figures |= {(*path, f"{row['syscall']} calls"): row["syscalls"],
                    (*path, f"{row['syscall']} inside"): row["inside_ns"]}
        if "requests" in row:
            figures[*path, "requests"] = row["requests"]
    return figures


def parse_syscalls_csv(output, question):
    figures = {}
    for row, value, requests, call, calls, inside_ns in csv_rows(output)[1]:
        label = (csv_text(value),) if row == "group" else ()
        figures |= {(row, label, f"{call} calls"): int(calls), (row, label, f"{call} inside"): int(inside_ns)}
        if requests:
            figures[row, label, "requests"] = int(requests)
    return figures
