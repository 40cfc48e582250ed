# SPDX-License-Identifier: GPL-2.0-only
"""
What `report --stacks --diff` says: the mean of a request in each method, by what its samples stand for.

A request has as much in it as its samples or waits there stand
for, once for each of them, however often the method calls itself; a request that has none in it counts with 0.

Not compared: waits in [unknown], where the tool puts the waits that no stack was told of, by the parts of a request.
"""
import collections

import chance
import pairs
import rule
import spread
from diffs import SIDES
from figures import csv_rows, csv_text, load

FIGURES = ("self", "total")
# In fewer requests of both recordings a method is not tested.
SEEN_NEEDED = 10
CLAMPED_NS = 2 ** 43


class Side:
    """What the requests of a recording used, or waited, by method."""

    def __init__(self, recording, chosen, is_waits):
        self.requests = {record.request: 0 for record in chosen.records
                         if record.request and record.kind == "cpu"}
        self.samples = 0
        self.parts = {what: collections.defaultdict(collections.Counter) for what in FIGURES}
        frames = spread.Frames(recording)
        for record in [record for record in chosen.records if record.request in self.requests]:
            if record.kind == "cpu":
                spent_ns = self.requests[record.request] + spread.spent_ns(record, is_waits)
                self.requests[record.request] = min(spent_ns, rule.MOST)
            elif record.kind == "sample":
                self.take(record, frames, is_waits)

    def take(self, record, frames, is_waits):
        count, weight_ns = spread.weigh(record, is_waits)
        if not weight_ns:
            return
        self.samples += count
        methods = frames.chain(record.fields["stack_id"], is_waits)
        self.parts["self"][methods[0]][record.request] += weight_ns
        for method in set(methods):
            self.parts["total"][method][record.request] += weight_ns

    def of_each(self, what, method):
        """A value of each request, and how many are not 0."""
        found = self.parts[what][method]
        return [found[request] for request in self.requests], len(found)


def describe(values, is_seen=True):
    """A figure of both sides."""
    if not all(values):
        return {}
    ends = {f"{side}_ns": clamped_mean_ns(of) for side, of in zip(SIDES, values)}
    return ends | (chance.describe_test(*values) if is_seen else {})


def clamped_mean_ns(values):
    """Beyond some hours of CPU only forged requests are; the tool has no more of one."""
    return sum(min(value, CLAMPED_NS) for value in values) // len(values)


def read_sides(recording, chosen, question):
    return [Side(*of, question.is_of_waits) for of in ((recording, chosen), pairs.read_other(question))]


def describe_sides(sides):
    figures = {}
    for method in {method for side in sides for method in side.parts["total"]}:
        for what in FIGURES:
            values, seen = zip(*(side.of_each(what, method) for side in sides))
            figures |= {("method", method, f"{what} {name}"): value
                        for name, value in describe(values, sum(seen) >= SEEN_NEEDED).items()}
    spent = describe([list(side.requests.values()) for side in sides])
    figures |= {("all", (), f"total {name}"): value for name, value in spent.items()}
    return figures | {("all", (), f"{name} requests"): len(side.requests) for name, side in zip(SIDES, sides)}


def expect_rows(recording, chosen, question):
    return describe_sides(read_sides(recording, chosen, question))


def without_untold(figures, question):
    if not question.is_of_waits:
        return figures
    return {path: value for path, value in figures.items() if path[0] != "tests" and path[1] != spread.UNKNOWN}


def expect_json(recording, chosen, question):
    sides = read_sides(recording, chosen, question)
    figures = describe_sides(sides)
    tested = sum(path[2].endswith("is_in_order") for path in figures)
    figures |= {("all", (), f"{name} samples"): side.samples for name, side in zip(SIDES, sides)}
    return without_untold(figures | {("tests", (), "tested"): tested}, question)


def read_figure(path, what, figure):
    return {(*path, f"{what} {name}"): value for name, value in chance.read_figure(figure).items()}


def parse_json(output, question):
    report = load(output)
    waits = question.is_of_waits
    figures = {("tests", (), "tested"): report["tested"]}
    figures |= read_figure(("all", ()), "total", report["all"].get("total", {}))
    for side in SIDES:
        counts = report["all"][side]
        figures |= {("all", (), f"{side} requests"): counts["requests"],
                    ("all", (), f"{side} samples"): counts["waits" if waits else "samples"]}
    for row in report["methods"]:
        method = row["name"], row.get("file"), row.get("first_line"), row["frame_kind"]
        for what in FIGURES:
            figures |= read_figure(("method", method), what, row.get(what, {}))
    return without_untold(figures, question)


def parse_csv(output, question):
    heading, rows = csv_rows(output)
    figures = {}
    for row in rows:
        cells = dict(zip(heading, row))
        path = "all", ()
        if cells["row"] == "method":
            path = "method", (csv_text(cells["name"]), cells["file"] or None,
                              int(cells["first_line"]) if cells["first_line"] else None, cells["frame_kind"])
        for side in SIDES if cells["row"] == "all" else ():
            figures[(*path, f"{side} requests")] = int(cells[f"{side}_requests"])
        for what in FIGURES:
            figures |= read_figure(path, what, chance.read_cells(cells, what))
    return figures
