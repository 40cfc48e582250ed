# SPDX-License-Identifier: GPL-2.0-only
"""The sums of `export openmetrics`."""
import collections
import re

import rule
from figures import HISTOGRAM_PART, Near, shown
from rows import Rows

# The labels of a tally's samples that are not those of a row.
TALLY_LABELS = "syscall", "io_on", "blocked_on"
FAMILIES = {cost.removesuffix("_ns") + "_seconds" * cost.endswith("_ns"): cost for cost in rule.COSTS}


def expect_openmetrics(recording, chosen, question):
    rows = Rows(recording, chosen, question.by)
    rows.table = chosen.table(question.by, with_host=True)
    figures = {("end", (), ""): recording.end_ns()}
    for kind, label, row in rows.kinds():
        if kind == "total":
            continue
        described = rows.describe(kind, row)
        figures |= {(kind, label, name): described.get(name) for name in [*FAMILIES.values(), "requests"]}
        if not (rows.is_by_request and kind == "group"):
            figures |= {(kind, label, name): value for name, value in describe_summaries(row).items()}
    figures |= expect_tallies(recording, chosen, question.by)
    return figures if len(figures) > 1 and any(value is not None for value in list(figures.values())[1:]) else {}


def expect_tallies(recording, chosen, by):
    """Of system calls, of reads and writes, of long waits and of hogs, where their modules were on."""
    modules = {name for meta in recording.of_kind("meta") for name in meta.fields.get("modules", ())}
    sums = collections.Counter()
    for record in chosen.records:
        if record.kind in ("syscall", "io") or (record.kind == "stall" and "stall" in modules):
            place = chosen.place(record, by, with_host=True)
            kind, label = ("group", place) if isinstance(place, tuple) else (place, ())
            for name, number in tallied(record).items():
                sums[kind, tuple(map(shown, label)), name] += number
    return {path: min(number, rule.MOST) for path, number in sums.items()}


def tallied(record):
    """The numbers of a record, by the names of their families and what they are of."""
    def numbers(of, **fields):
        return {f"{name} {of}".strip(): record.count(field) or 0 for name, field in fields.items()}

    if record.kind == "syscall":
        return numbers(rule.call_name(record), syscall_calls="syscalls", syscall_seconds="inside_ns")
    if record.kind == "io":
        return numbers(record.text("io_on") or "?", io_calls="io_calls", io_in_bytes="in_bytes",
                       io_out_bytes="out_bytes")
    blocked_ns, run_queue_ns, cpu_ns = (record.count(name) or 0 for name in ("blocked_ns", "run_queue_ns", "cpu_ns"))
    if "hog" in record.fields:
        return {"hogs": 1, "hog_seconds": blocked_ns + run_queue_ns + cpu_ns}
    of = "cpu" if run_queue_ns > blocked_ns else record.text("blocked_on") or "?"
    return {f"stalls {of}": 1, f"stall_seconds {of}": blocked_ns + run_queue_ns}


def describe_summaries(row):
    figures = {}
    for figure in ("cpu", "wall", "parked"):
        values = row.distribution(figure)
        if not values:
            continue
        figures |= {f"{figure} {quantile}": Near(rule.percentile(values, percent), HISTOGRAM_PART, 0)
                    for quantile, percent in (("0.5", 50), ("0.9", 90), ("0.99", 99))}
        figures |= {f"{figure} 1.0": values[-1], f"{figure} count": len(values),
                    f"{figure} sum": min(sum(values), rule.MOST)}
    return figures


def read_labels(text):
    labels = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', text)
    return {name: re.sub(r"\\(.)", r"\1", value) for name, value in labels}


def parse_openmetrics(output, question):
    figures = {}
    for line in output.decode("utf-8", "surrogateescape").split("\n"):
        if not line or line.startswith("#"):
            continue
        metric, rest = line.split("{", 1)
        labels, value, stamp = re.fullmatch(r"(.*)\} (\S+) (\S+)", rest).groups()
        labels = read_labels(labels)
        kind = labels.pop("row")
        quantile = labels.pop("quantile", None)
        of = [labels.pop(name) for name in TALLY_LABELS if name in labels]
        name, number = read_metric(metric.removeprefix("correlator_"), quantile, value)
        figures[kind, tuple(labels.values()), " ".join([name, *of])] = number
        figures["end", (), ""] = read_ns(stamp)
    return figures


def read_ns(text):
    return int(text.replace(".", ""))


def read_metric(metric, quantile, value):
    if summary := re.fullmatch(r"request_(\w+?)_seconds(_count|_sum)?", metric):
        figure, part = summary.groups()
        return f"{figure} {quantile or part[1:]}", int(value) if part == "_count" else read_ns(value)
    family = metric.removesuffix("_total")
    return FAMILIES.get(family, family), read_ns(value) if family.endswith("_seconds") else int(value)
