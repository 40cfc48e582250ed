# SPDX-License-Identifier: GPL-2.0-only
"""Rounds in which the ways to observe take turns, and what a way adds over unobserved."""
import contextlib
import statistics

from quiet import await_quiet

# Operations in a batch, and batches in a turn: about 60 ms unobserved.
LOOPS = {
    "syscall": (5000, 100),
    "receive": (5000, 60),
    "read": (5000, 60),
    "switch": (1000, 80),
    "apply": (1500, 60),
    "fiber": (1000, 40),
    "common_fiber": (10000, 40),
}
QUICK_DIVISOR = 4


def be_quick():
    for loop, (operations, batches) in LOOPS.items():
        LOOPS[loop] = operations, batches // QUICK_DIVISOR


class Series:
    """What one loop took under one way to observe, once per round."""

    def __init__(self):
        self.ns = []

    def summary(self):
        return min(self.ns), statistics.median(self.ns)

    def added(self, unobserved):
        """Nanoseconds over unobserved: of the best rounds, and the median of the rounds."""
        return (min(self.ns) - min(unobserved.ns),
                statistics.median(own - none for own, none in zip(self.ns, unobserved.ns)))


def take_turns(rounds, ways, loops, target, observed_pids, progress):
    """
    {(way, loop): Series}. ways: {name: observe(pids) -> context manager}; each round attaches every
    way once and runs all loops in the target, the odd rounds in the opposite order.
    """
    series = {(way, loop): Series() for way in ways for loop in loops}
    for number in range(rounds):
        progress(f"round {number + 1} of {rounds}")
        await_quiet(progress)
        order = list(ways) if number % 2 == 0 else list(ways)[::-1]
        for way in order:
            with ways[way](observed_pids):
                for loop in loops:
                    series[way, loop].ns.append(target.best_ns(loop, *LOOPS[loop]))
    return series


def unobserved(_):
    return contextlib.nullcontext()
