# SPDX-License-Identifier: GPL-2.0-only
"""
What the page has of stacks: what was spent by all that is selected, and how many samples or waits tell of it.

What is not said anywhere, and how it is here:

* The page has code if it has a sample that is in no request, or in one of which --where chose a cpu record.
* A sample of a request counts if a selected cpu record of that request has the sample's group. Without a group of its
  own a sample has that of the last cpu record up to its window, or of the first one. Where the cpu records of a request
  are in no order of time, the count of samples is not compared.
"""
import math

import rule
from figures import Near

MEASURES = {0: ("cpu_ns",), 1: ("blocked_ns", "run_queue_ns")}


def expect_code(chosen, selected, question):
    def is_held(record):
        return record.kind == "sample" and weigh(record) and (not record.request or record.request in chosen.requests)

    if not any(is_held(record) for record in chosen.records):
        return {}
    figures = {}
    for measure, costs in MEASURES.items():
        spent_ns, count = selected.chosen.spent_ns(costs), count_samples(selected, measure, question)
        figures |= {("code", (measure,), "spent"): spent_ns, ("code", (measure,), "of its parts"): spent_ns,
                    ("code", (measure,), "samples"): count, ("code", (measure,), "samples of its parts"): count}
    return figures


def weigh(record):
    """Its measure, and how many samples or waits it is; None: it tells of nothing."""
    if record.count("samples"):
        return 0, record.count("samples")
    waited = (record.count("blocked_ns") or 0) + (record.count("run_queue_ns") or 0)
    return (1, record.count("waits") or 0) if waited else None


def count_samples(selected, measure, question):
    cells = {}
    for record in selected.in_span.cpu:
        if record.request:
            cells.setdefault(record.request, []).append(record)
    if any(later.wall_ns < cell.wall_ns for own in cells.values() for cell, later in zip(own, own[1:])):
        return Near(0, slack=math.inf)
    count = 0
    for record in selected.in_span.records:
        weight = record.kind == "sample" and weigh(record)
        if weight and weight[0] == measure and is_counted(record, cells, selected, question):
            count += weight[1]
    return count


def is_counted(sample, cells, selected, question):
    key, group = selected.key, selected.group
    if not sample.request:
        return group is None or selected.place(sample) == (group,)
    own = cells.get(sample.request, ())
    if not own:
        return False
    value = sample.values.get(key) if question.where else rule.keys_of(sample).get(key)
    before = [cell for cell in own if cell.wall_ns <= sample.wall_ns] or own[:1]
    value = value or before[-1].values.get(key)
    return any(cell.values.get(key) == value for cell in own) and group in (None, value)
