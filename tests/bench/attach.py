# SPDX-License-Identifier: GPL-2.0-only
"""Part 5: how long it takes until many processes are observed, and what those cost that are not."""
import contextlib
import os
import pathlib
import re
import subprocess
import time

from processes import CORRELATOR, FOLDER, RUBY, Process, Signalled
from tables import Table

NAME = f"bench-{os.getpid()}"[:15]
RUBIES = (1, 50, 200)
WORKERS = 2000
STRANGERS = (0, 2000)
# Sleeping threads of another process, beside which windows end.
TASKS = (0, 20000)
WINDOW = "10ms"
WINDOWS_SECONDS = 5
# What only says that it runs.
QUICK_RUBIES = (1, 4)
QUICK_WORKERS = 10
QUICK_STRANGERS = (0, 10)
QUICK_TASKS = (0, 100)
GOAL_SECONDS = {200: 2, WORKERS: 5}
GOAL_PERCENT_PER_1000 = 0.1
# A pass over all processes is due once a minute: one of them is in it.
WATCH_SECONDS = 61
SETTLED_SECONDS = 5
QUICK_SECONDS = 1


def cpu_seconds(pid):
    """To the nanosecond, of a process of one thread."""
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


class Publishers(contextlib.ExitStack):
    """So many Rubies that publish, each with so many forked workers."""

    def __init__(self, count, workers=0):
        super().__init__()
        children = [self.enter_context(
            Process([*RUBY, FOLDER / "publisher.rb", NAME, workers], stdout=subprocess.PIPE))
            for _ in range(count)]
        for child in children:
            child.await_line(child.process.stdout, "ready")


class Strangers(Process):
    """So many sleeping processes that are not Ruby."""

    def __init__(self, count):
        script = (f"i=0; while [ $i -lt {count} ]; do sleep infinity & i=$((i + 1)); done; "
                  "echo ready; read line; kill $(jobs -p) 2>/dev/null; wait")
        super().__init__(["bash", "-c", script], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
        self.await_line(self.process.stdout, "ready")


class Tasks(Process):
    """A process with a number of sleeping threads."""

    def __init__(self, count):
        script = (f"import sys, threading as t; t.stack_size(65536); e = t.Event(); "
                  f"[t.Thread(target=e.wait, daemon=True).start() for _ in range({count})]; "
                  "print('ready', flush=True); sys.stdin.read()")
        super().__init__(["python3", "-c", script], stdout=subprocess.PIPE)
        self.await_line(self.process.stdout, "ready")


class Searching(Signalled):
    """correlator record of all that have our name."""

    def __init__(self, *options):
        self.start = time.monotonic()
        super().__init__([CORRELATOR, "record", "-o", os.devnull, "--comm", NAME, *options],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def await_observed(self, count):
        """(seconds, CPU seconds) from its start on until it observes so many."""
        found, said = 0, ""
        for line in self.process.stderr:
            said += line
            if match := re.search(r"observing (?:process|(\d+) processes:) \d", line):
                found += int(match[1] or 1)
            found += "found process" in line
            if found >= count:
                return time.monotonic() - self.start, cpu_seconds(self.pid)
        raise RuntimeError(f"it ended, and observed {found} of {count}:\n{said}")


def attach(count, workers):
    with Publishers(count, workers), Searching() as correlator:
        return correlator.await_observed(count * (1 + workers))


def watch(strangers, settled_seconds, watch_seconds):
    """CPU % of one CPU beside so many strangers, once it has looked at them."""
    with Strangers(strangers), Publishers(1), Searching() as correlator:
        correlator.await_observed(1)
        time.sleep(settled_seconds)
        start, before = time.monotonic(), cpu_seconds(correlator.pid)
        time.sleep(watch_seconds)
        return 100 * (cpu_seconds(correlator.pid) - before) / (time.monotonic() - start)


def end_windows(tasks, seconds):
    """Microseconds of our CPU for the end of a window, beside a number of tasks."""
    with Tasks(tasks), Publishers(1), Searching("-i", WINDOW) as correlator:
        correlator.await_observed(1)
        time.sleep(QUICK_SECONDS)
        start, before = time.monotonic(), cpu_seconds(correlator.pid)
        time.sleep(seconds)
        windows = (time.monotonic() - start) * 1000 / int(WINDOW.removesuffix("ms"))
        return 1e6 * (cpu_seconds(correlator.pid) - before) / windows


def run(quick, progress):
    rubies, workers_max = (QUICK_RUBIES, QUICK_WORKERS) if quick else (RUBIES, WORKERS)
    seconds = (QUICK_SECONDS, QUICK_SECONDS) if quick else (SETTLED_SECONDS, WATCH_SECONDS)
    table = Table("attaching", "until all are observed", "own CPU", "goal")
    for count, workers in [*((count, 0) for count in rubies), (1, workers_max)]:
        progress(f"attaching: {count} processes with {workers} workers each")
        took, cpu = attach(count, workers)
        goal = GOAL_SECONDS.get(workers or count)
        table.add(f"{count:,} processes" + (f" with {workers:,} workers" if workers else ""),
                  f"{took:.2f} s{Table.mark(took, goal) if goal else ''}", f"{cpu:.2f} s",
                  f"≤ {goal} s" if goal else "")
    least = None
    for strangers in QUICK_STRANGERS if quick else STRANGERS:
        progress(f"strangers: {strangers}")
        percent = watch(strangers, *seconds)
        least = percent if least is None else least
        added = percent - least
        goal = GOAL_PERCENT_PER_1000 * strangers / 1000
        table.add(f"{strangers:,} sleeping strangers", "",
                  f"{percent:.3f} % of a CPU{Table.mark(added, goal) if strangers else ''}",
                  f"≤ {goal} % more" if strangers else "")
    for tasks in QUICK_TASKS if quick else TASKS:
        progress(f"windows: beside {tasks} tasks")
        took = end_windows(tasks, QUICK_SECONDS if quick else WINDOWS_SECONDS)
        table.add(f"end of a window, beside {tasks:,} sleeping threads", "", f"{took:.0f} µs", "the same")
    return table
