# SPDX-License-Identifier: GPL-2.0-only
"""A table in Markdown."""


class Table:
    """Rows of text under headings; all but the first two columns are numbers."""

    TEXT_COLUMNS = 2

    def __init__(self, *headings):
        self.rows = [headings]

    def add(self, *cells):
        self.rows.append(cells)

    def add_ratio(self, way, added, base, goal):
        """What a way adds, and over what the floor adds (None: there is none), each against the goal."""
        ratios = [own / floor if floor > 0 else float("nan") for own, floor in zip(added, base or (0, 0))]
        self.add("", way, *(f"{ns:+.0f} ns" for ns in added),
                 *(f"{ratio:.2f}{self.mark(ratio, goal)}" if base else "" for ratio in ratios),
                 "" if goal is None else f"≤ {goal:g}")

    @staticmethod
    def mark(ratio, goal):
        if goal is None:
            return ""
        return " ✓" if ratio <= goal else " ✗"

    def __str__(self):
        widths = [max(len(row[i]) for row in self.rows) for i in range(len(self.rows[0]))]
        lines = [self.line(row, widths) for row in self.rows]
        rule = ["-" * width if i < self.TEXT_COLUMNS else "-" * (width - 1) + ":"
                for i, width in enumerate(widths)]
        return "\n".join([lines[0], "| " + " | ".join(rule) + " |", *lines[1:]])

    def line(self, row, widths):
        return "| " + " | ".join(
            cell.ljust(width) if i < self.TEXT_COLUMNS else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))) + " |"
