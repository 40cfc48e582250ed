# SPDX-License-Identifier: GPL-2.0-only
"""What the balance and gap records of a recording add up to, and the balance that is off most."""
import generator
import rule

PARTS = ("attributed_ns", "unattributed_ns", "overflow_ns")
SUMS = ("exec_ns", *PARTS, "own_cpu_ns")
LOSSES = tuple(generator.COUNTERS)
GAPS = ("dropped_records", "dropped_segments")


def add_up(records, names):
    return {name: min(sum(record.count(name) or 0 for record in records), rule.MOST) for name in names}


def residual_ns(sums):
    return sums["exec_ns"] - min(sum(sums[part] for part in PARTS), rule.MOST)


def find_worst(balances):
    """The first one of those that are off most: by how much, and how much there was."""
    each = [add_up([balance], SUMS) for balance in balances]
    worst = max(each, key=lambda sums: abs(residual_ns(sums)))
    return residual_ns(worst), worst["exec_ns"]


def describe(recording):
    figures, balances, gaps = {}, recording.of_kind("balance"), recording.of_kind("gap")
    if balances:
        figures = add_up(balances, SUMS + LOSSES)
        figures["residual_ns"] = residual_ns(figures)
        figures["worst_residual_ns"], figures["worst_exec_ns"] = find_worst(balances)
    return figures | (add_up(gaps, GAPS) if gaps else {})
