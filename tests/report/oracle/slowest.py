# SPDX-License-Identifier: GPL-2.0-only
"""
The requests that --slowest shows: a number of those that took longest, or all that took longer than a percentile of the
requests of their endpoint.

With --sort cpu it is those that used most. Of equal ones, the first by name is shown first.
"""
import collections

import rows
import rule


def value_of(costs, sort):
    return costs.get("cpu_ns") if sort == "cpu" else costs.wall_ns()


def percent_of(slowest):
    return float(slowest[:-1]) if slowest.endswith("%") else None


def choose_above(values, endpoints, percent):
    """The requests above that percentile of those of their endpoint."""
    peers = collections.defaultdict(list)
    for request, value in values.items():
        peers[endpoints.get(request)].append(value)
    limits = {endpoint: percentile(sorted(found), percent) for endpoint, found in peers.items()}
    return {request for request, value in values.items() if value > limits[endpoints.get(request)]}


def percentile(values, percent):
    part = percent * len(values) / 100
    return values[max(int(part) + (int(part) < part), 1) - 1]


def last_endpoints(chosen):
    return {record.request: record.values.get("endpoint") for record in chosen.cpu if record.request}


class SlowestRows(rows.Rows):
    """The requests that are chosen, and the others as one row."""

    def __init__(self, recording, chosen, question):
        super().__init__(recording, chosen, ("request_id",))
        self.slowest, self.sort = question.slowest, question.sort

    def ranked(self):
        def key(group):
            value = value_of(group[1].costs, self.sort)
            return 1 if value is None else -value, group[0][0].encode("utf-8", "surrogateescape")
        return sorted(self.table.groups().items(), key=key)

    def part(self):
        groups, percent = self.ranked(), percent_of(self.slowest)
        if percent is None:
            return groups[:int(self.slowest)], groups[int(self.slowest):]
        values = {place[0]: value_of(row.costs, self.sort) for place, row in groups}
        above = choose_above({request: value for request, value in values.items() if value is not None},
                             last_endpoints(self.chosen), percent)
        return ([group for group in groups if group[0][0] in above],
                [group for group in groups if group[0][0] not in above])


def expect_slowest(recording, chosen, question):
    figures = rows.count_rows(SlowestRows(recording, chosen, question))
    return figures | rows.expect_rest(recording, chosen, question)


def expect_stacks(recording, chosen, question):
    """The CPU of those that are chosen."""
    shown, _ = SlowestRows(recording, chosen, question).part()
    spent_ns = min(sum(row.costs.sums["cpu_ns"] for _, row in shown), rule.MOST)
    return {("all", (), "spent"): spent_ns, ("all", (), "of its parts"): spent_ns}
