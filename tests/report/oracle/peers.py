# SPDX-License-Identifier: GPL-2.0-only
"""What requests read and wrote, by kind of file and by peer: `report --io`."""
import rule
from figures import csv_rows, csv_text, each_line, load, read_row, shown, shown_label

ENDS = "io_on", "peer", "accepted"
# A line begins with these, in csv; and these have no key of their own name.
BESIDE = "row", "requests", *ENDS, *rule.IO_NUMBERS, "on"


def end_name(on, peer, is_accepted):
    return " ".join((on, shown(peer or ""), "accepted" if is_accepted else ""))


def add_up(numbers):
    """Of each sum by itself, as the tool adds them."""
    return [min(sum(column), rule.MOST) for column in zip([0] * len(rule.IO_NUMBERS), *numbers)]


def named(prefix, numbers):
    return {f"{prefix}{name}": number for name, number in zip(rule.IO_NUMBERS, numbers)}


def expect_io(recording, chosen, question):
    figures, all_numbers = {}, []
    is_json = question.view == "io json"
    for place, group in chosen.io(question.by).items():
        path = ("group", shown_label(place, question.by)) if isinstance(place, tuple) else (place, ())
        ends = group["ends"]
        if group["requests"] and (ends or is_json):
            figures[*path, "requests"] = group["requests"]
        for end, numbers in ends.items():
            figures |= {(*path, name): number
                        for name, number in named(f"{end_name(*end)} ", add_up([numbers])).items()}
        if is_json:
            figures |= {(*path, name): number for name, number in named("", add_up(ends.values())).items()}
        all_numbers += ends.values()
    if is_json:
        figures |= {("total", (), name): number for name, number in named("", add_up(all_numbers)).items()}
    return figures


def member_of(key):
    return "key" if key in BESIDE else key


def read_end(path, row):
    prefix = end_name(*(row.get(name) for name in ENDS))
    return {(*path, f"{prefix} {name}"): row[name] for name in rule.IO_NUMBERS}


def parse_io_json(output, question):
    report = load(output)
    names = {"requests", *rule.IO_NUMBERS}
    figures = read_row("total", (), report["total"], names)
    for group in report["groups"]:
        label = (group[member_of(question.by[0])],) if group["row"] == "group" else ()
        figures |= read_row(group["row"], label, group, names)
        for end in group["on"]:
            figures |= read_end((group["row"], label), end)
    return figures


def parse_io_ndjson(output, question):
    figures = {}
    for row in each_line(output):
        path = row["row"], (row[member_of(question.by[0])],) if row["row"] == "group" else ()
        figures |= read_end(path, row)
        if "requests" in row:
            figures[*path, "requests"] = row["requests"]
    return figures


def parse_io_csv(output, question):
    figures = {}
    for row, value, requests, on, peer, is_accepted, *numbers in csv_rows(output)[1]:
        path = row, (csv_text(value),) if row == "group" else ()
        end = {"io_on": on, "peer": csv_text(peer), "accepted": is_accepted == "true"}
        figures |= read_end(path, end | dict(zip(rule.IO_NUMBERS, map(int, numbers))))
        if requests:
            figures[*path, "requests"] = int(requests)
    return figures
