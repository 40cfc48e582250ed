# SPDX-License-Identifier: GPL-2.0-only
"""The sums of `export openmetrics`."""
import re

import rule
from figures import HISTOGRAM_PART, Near
from rows import Rows

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
    return figures if len(figures) > 1 and any(value is not None for value in list(figures.values())[1:]) else {}


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
        name, number = read_metric(metric.removeprefix("correlator_"), quantile, value)
        figures[kind, tuple(labels.values()), name] = number
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
