# SPDX-License-Identifier: GPL-2.0-only
"""
The page of `report --html`: the report in it, and the columns of numbers that its script counts with.

A cell is what a request, or nobody, cost in a window on a thread. Its sums are compared here.
"""
import base64
import collections
import json

import rows
import rule
from figures import shown

PARTS = (None, rule.UNATTRIBUTED, rule.OVERFLOW)


def key_of(question):
    """By which the page tells cells apart."""
    return "endpoint" if question.by == ("request_id",) else question.by[0]


def expect_page(recording, chosen, question):
    figures = rows.expect_json(recording, chosen, question)
    sums = collections.Counter()
    lent = {} if question.where else lend_among_cells(chosen, key_of(question))
    for record in chosen.cpu:
        place = chosen.place(record, (key_of(question),))
        if record.request and not question.where:
            place = (lent[record],) if lent[record] else rule.WITHOUT_KEY
        group = place[0] and shown(place[0]) if isinstance(place, tuple) else place
        cpu_ns = rule.Costs(record).sums["cpu_ns"]
        sums["cell of", (group,)] += cpu_ns
        sums["cell of request", (record.request and shown(record.request),)] += cpu_ns
        sums["cell in", (record.wall_ns,)] += cpu_ns
    return figures | bounded(sums)


def lend_among_cells(chosen, key):
    """The group of each cpu record. Without a filter the page itself lends, in whatever time is selected: among
    these alone, so that what only a slice, a sample or a call of a request says is not there."""
    lent, last = {}, {}
    for records in chosen.cpu, chosen.cpu[::-1]:  # the second time the first value, to those before it
        for record in records:
            own = rule.keys_of(record).get(key) if records is chosen.cpu else lent.get(record)
            last[record.request] = own or last.get(record.request)
            if not lent.get(record):
                lent[record] = last[record.request]
        last = {}
    return lent


def bounded(sums):
    return {(kind, label, "cpu_ns"): min(value, rule.MOST) for (kind, label), value in sums.items() if value}


def script(text, identity):
    begin = text.index(">", text.index(f'id="{identity}"')) + 1
    return json.loads(text[begin:text.index("</script>", begin)])


def decode(column):
    """The numbers of a column: 7 bits a byte, the lowest first."""
    numbers, number, shift = [], 0, 0
    for byte in base64.b64decode(column + "=" * (-len(column) % 4)):
        number |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(number)
            number = shift = 0
    return numbers


def parse_page(output, question):
    text = output.decode("utf-8", "surrogateescape")
    report, data = script(text, "report-0"), script(text, "data-0")
    return rows.parse_rows(report, question.by) | rows.parse_rest(report) | sum_cells(data)


def lend(counts, groups):
    """As the script does it: a request's cell without a group (0) has the last one's, or the first one's."""
    lent, begin = list(groups), 0
    for count in counts:
        own = groups[begin:begin + count]
        last = next((group for group in own if group), 0)
        for number, group in enumerate(own):
            last = group or last
            lent[begin + number] = last
        begin += count
    return lent


def sum_cells(data):
    cells, groups = data["cells"], [rule.WITHOUT_KEY, *data["groups"]]  # 0 is none
    counts = decode(cells["of_request"])
    requests = [identity for identity, count in zip(data["ids"], counts) for _ in range(count)]
    ends = [int(data["times"]["origin_ns"]) + end for end in decode(data["times"]["end"])]
    columns = [lend(counts, decode(cells["group"])), *(decode(cells[name]) for name in ("part", "time", "cpu"))]
    sums = collections.Counter()
    for number, (group, part, time, cpu_ns) in enumerate(zip(*columns)):
        name = PARTS[part] or groups[group]
        sums["cell of", (name,)] += cpu_ns
        sums["cell of request", (requests[number] if number < len(requests) else None,)] += cpu_ns
        sums["cell in", (ends[time],)] += cpu_ns
    return bounded(sums)
