# SPDX-License-Identifier: GPL-2.0-only
"""The page's table of two recordings: A is the first one, B the one of --compare, a change is how much more B has."""
import pairs
import rows
import rule
from figures import Near
from page import key_of
from page_selection import Selected, ask_page, page_figures, read

COMPARED = ("rate", "cpu_mean", "cpu_p99", "wall_mean", "wall_p99")


def expect_compared(recording, chosen, question):
    sides = [expect_side(*side, question) for side in ((recording, chosen), pairs.read_other(question))]
    figures = {}
    for kind, label in {path[:2] for side in sides for path in side}:
        for field in COMPARED:
            before, after = (side.get((kind, label, field)) for side in sides)
            named = {"A": before, "B": after, "change": change(before, after)}
            figures |= {(kind, label, f"{field} {name}"): value for name, value in named.items() if value is not None}
    return figures


def expect_side(recording, chosen, question):
    selected = Selected(recording, chosen, question)
    described = rows.Rows(selected.recording, selected.chosen, (selected.key,))
    return {path: value for kind, label, row in described.kinds() if kind not in (rule.UNATTRIBUTED, rule.OVERFLOW)
            for path, value in page_figures(kind, label, described.describe(kind, row)).items() if path[2] in COMPARED}


def change(before, after):
    """In percent, as near as both are."""
    if before is None or after is None:
        return None
    before, after = (value if isinstance(value, Near) else Near(value, 0, 0) for value in (before, after))
    if not before.value:
        return None
    part = after.value / before.value
    return Near(100 * (part - 1), slack=2e-6 + 101 * part * (before.part + after.part))


def parse_compared(output, question):
    figures = {}
    for row in ask_page(output, question):
        label = (row["label"],) if row["kind"] == "group" else ()
        figures |= read(row["kind"], label, {name: value for name, value in row["values"].items() if name != "change"})
    return figures
