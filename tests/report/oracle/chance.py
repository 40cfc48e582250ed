# SPDX-License-Identifier: GPL-2.0-only
"""
Whether two means differ, the slow way: Welch's test with Student's density summed up in small steps, and the
permutation test by shuffling. The tool says the larger probability of both.
"""
import math
import random
import statistics

import rule
from figures import Near

SHUFFLES = 1000
# Errors of the shuffles, and of the three moments by which the tool has the distribution. Larger probabilities decide
# nothing, and with one far value among ten three moments have 0.49 where 0.71 is right.
PROBABILITY_SLACK = 0.15
PROBABILITY_MOST = 0.3
MEAN_NEEDED = 10
SIGNIFICANCE = 0.05
STEPS = 2000
# The tool clamps larger values before it squares them.
EXACT_MOST = 2 ** 43
ANY = Near(0, 0, math.inf)
# Fields of a figure, and more of one that is tested.
ENDS = ("before_ns", "after_ns")
TEST = ("change_ns", "low_ns", "high_ns", "probability", "corrected", "changed")


def student_beyond(t, degrees):
    """P(|T| > |t|)."""
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(degrees * math.pi)
    width = abs(t) / STEPS
    inside = sum(scale * (1 + ((step + 0.5) * width) ** 2 / degrees) ** (-(degrees + 1) / 2) * width
                 for step in range(STEPS))
    return max(1 - 2 * inside, 0)


def welch(before, after):
    parts = [statistics.variance(values) / len(values) for values in (before, after)]
    if not sum(parts):
        return 0
    degrees = sum(parts) ** 2 / sum(part ** 2 / (len(values) - 1) for part, values in zip(parts, (before, after)))
    return student_beyond((statistics.fmean(after) - statistics.fmean(before)) / math.sqrt(sum(parts)), degrees)


def shuffled(before, after):
    """Twice the part of shuffles in which the second sum is at least as far out, on the side on which it is."""
    pool, count, found = before + after, len(after), sum(after)
    chooser = random.Random(len(pool))
    above = below = 0
    for _ in range(SHUFFLES):
        drawn = sum(chooser.sample(pool, count))
        above += drawn >= found
        below += drawn <= found
    return min(2 * min(above, below) / SHUFFLES, 1)


def is_tested(before, after):
    return min(len(before), len(after)) >= MEAN_NEEDED and len(set(before + after)) > 1


def describe_test(before, after):
    """The figures of a test of two means; none where there is no test."""
    if not is_tested(before, after):
        return {}
    if max(before + after) > EXACT_MOST:
        return {"is_in_order": True, "change_ns": ANY, "probability": ANY}
    change = statistics.fmean(after) - statistics.fmean(before)
    probability = max(welch(before, after), shuffled(before, after))
    return {"is_in_order": True, "change_ns": Near(change, 1e-6, 1),
            "probability": Near(min(probability, PROBABILITY_MOST), 0, PROBABILITY_SLACK)}


def read_figure(figure):
    """Both ends of a figure that the tool has, and the same of its test."""
    ends = {end: figure[end] for end in ENDS if end in figure}
    if "change_ns" not in figure:
        return ends
    is_change = figure["corrected"] < SIGNIFICANCE and not figure["low_ns"] <= 0 <= figure["high_ns"]
    is_in_order = (figure["low_ns"] <= figure["change_ns"] <= figure["high_ns"] and
                   0 <= figure["probability"] <= figure["corrected"] <= 1 and figure["changed"] == is_change)
    return ends | {"is_in_order": is_in_order, "change_ns": figure["change_ns"],
                   "probability": min(figure["probability"], PROBABILITY_MOST)}


def read_cells(cells, name):
    """A figure of CSV as JSON has it."""
    found = {of: cells[f"{name}_{of}"] for of in ENDS + TEST if cells[f"{name}_{of}"]}
    return {of: int(cell) if of in ENDS else cell == "true" if of == "changed" else float(cell)
            for of, cell in found.items()}


def mean_ns(values):
    return min(sum(values), rule.MOST) // len(values)
