# SPDX-License-Identifier: GPL-2.0-only
"""Records as they are, as `export` writes them."""
import re

import rule
from figures import csv_rows, csv_text, each_line, shown


def record_value(value):
    """As JSON has it."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, list):
        return [shown(item) for item in value]
    if isinstance(value, bool):
        return value
    return min(value, rule.MOST) if isinstance(value, int) else None


def expect_records(recording, chosen, question):
    records = recording.records
    if question.where:
        records = [record for record in records if record.kind in rule.TIMELESS] + chosen.records
    figures = {}
    for record in records:
        identity = record.fields["record_id"], record.kind
        figures[("record", identity, "wall_ns")] = record.wall_ns
        figures |= {("record", identity, shown(name)): record_value(value) for name, value in record.fields.items()}
    return figures


def parse_records(output, question):
    figures = {}
    for record in each_line(output):
        identity = record["record_id"], record["kind"]
        if ("record", identity, "kind") in figures:
            figures[("record", identity, "twice")] = True
        figures |= {("record", identity, name): value for name, value in record.items()}
    return figures


def expect_record_rows(recording, chosen, question):
    figures = {}
    for record in chosen.cpu:
        identity = record.fields["record_id"]
        cells = {name: cell_of(value) for name, value in record.fields.items()} | {"wall_ns": str(record.wall_ns)}
        figures |= {("record", identity, name): cell for name, cell in cells.items()
                    if cell and name not in ("schema", "kind", "record_id")}
    return figures


def cell_of(value):
    if isinstance(value, list):
        return shown(" ".join(value))
    return shown(value) if isinstance(value, str) else str(min(int(value), rule.MOST))


def parse_record_rows(output, question):
    heading, rows = csv_rows(output)
    figures, seen = {}, set()
    for row in rows:
        cells = dict(zip(heading, (csv_text(cell) for cell in row)))
        identity = cells.pop("record_id")
        # Keys that the heading came too early for.
        for pair in re.split(" (?=[a-z0-9_.]+=)", cells.pop("other_keys")):
            cells[pair.partition("=")[0]] = pair.partition("=")[2]
        if identity in seen:
            cells["twice"] = "yes"
        seen.add(identity)
        figures |= {("record", identity, name): cell for name, cell in cells.items() if cell}
    return figures
