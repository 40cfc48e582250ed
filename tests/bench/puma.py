# SPDX-License-Identifier: GPL-2.0-only
"""Part 3: what observing takes from a web server."""
import collections
import contextlib
import os
import socket
import statistics
import subprocess
import time

from measure import unobserved
from processes import (BUILD, FOLDER, OTHER_CPUS, PROGRAMS, TARGET_CPUS, Correlator, Signalled,
                       cpu_ns, prepare_child)
from quiet import await_quiet
from tables import Table

THREADS = 4
CONNECTIONS = 2
BOOT_SECONDS = 30
PAGES = {"/work": "about 2 ms of work", "/cheap": "the cheapest possible"}

Way = collections.namedtuple("Way", "name options over goal")
UNOBSERVED = "unobserved"
# over: whom it is compared with. The goals are those of about 2 ms of work, by CPU a request: the rate varies more.
WAYS = (
    Way(UNOBSERVED, None, None, None),
    Way("exact", (), UNOBSERVED, 0.97),
    Way("lean", ("--lean",), UNOBSERVED, None),
    Way("no-kernel-split", ("--no-kernel-split",), UNOBSERVED, None),
    Way("99 stacks a second", ("--stacks=99",), "exact", 0.99),
    # With the events of the gem: GVL and GC.
    Way("all modules", ("--timeline", "--syscalls", "--io", "--stall", "--stacks=99,off-cpu"), UNOBSERVED, 0.95),
)
WATCHED = "all modules"


class Puma(Signalled):
    """One process that serves app.ru on the target's CPU."""

    def __init__(self, **environment):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        super().__init__(["puma", "-e", "production", "-q", "-t", f"{THREADS}:{THREADS}", "-b",
                          f"tcp://127.0.0.1:{self.port}", FOLDER / "app.ru"],
                         cpus=frozenset(TARGET_CPUS), stdout=subprocess.DEVNULL,
                         env={**os.environ, "RUBYLIB": str(BUILD / "ruby" / "lib"), **environment})
        self.await_boot()

    def await_boot(self):
        end = time.monotonic() + BOOT_SECONDS
        while time.monotonic() < end:
            with contextlib.suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            time.sleep(0.05)
        self.__exit__()
        raise RuntimeError("Puma does not boot")

    def load(self, page, seconds):
        """(requests per second, p50 µs, p99 µs, CPU of the process for each request in µs)"""
        used_ns = -cpu_ns(self.pid)
        said = subprocess.run(
            [PROGRAMS / "bench_load", str(self.port), page, str(seconds), str(CONNECTIONS)],
            preexec_fn=lambda: prepare_child(OTHER_CPUS), text=True, check=True,
            stdout=subprocess.PIPE).stdout
        used_ns += cpu_ns(self.pid)
        rate, *latencies = map(float, said.split())
        return rate, *latencies, used_ns / (rate * seconds) / 1000


def best_and_median(results):
    """Of the rounds, by column: the best is the highest rate, and the lowest of the others."""
    rates, *times = zip(*results)
    return ((max(rates), *map(min, times)),
            tuple(statistics.median(column) for column in (rates, *times)))


def observed(way, pid):
    return unobserved(pid) if way.options is None else Correlator(pid, *way.options)


def part_left(own, base):
    """Of the other way, in (rate, CPU a request): best and median of rounds that are next to each other."""
    (best_rate, *_, best_us), (base_rate, *_, base_us) = best_and_median(own)[0], best_and_median(base)[0]
    return (best_rate / base_rate, statistics.median(mine[0] / theirs[0] for mine, theirs in zip(own, base)),
            base_us / best_us, statistics.median(theirs[-1] / mine[-1] for mine, theirs in zip(own, base)))


def run(rounds, seconds, progress):
    results = {(page, way.name): [] for page in PAGES for way in WAYS}
    with Puma() as plain, Puma(CORRELATOR_WATCH_VM="1") as watched:
        for page in PAGES:
            plain.load(page, seconds)
            watched.load(page, seconds)
        for number in range(rounds):
            progress(f"Puma: round {number + 1} of {rounds}")
            await_quiet(progress)
            for way in WAYS if number % 2 == 0 else WAYS[::-1]:
                puma = watched if way.name == WATCHED else plain
                with observed(way, puma.pid):
                    for page in PAGES:
                        results[page, way.name].append(puma.load(page, seconds))
    table = Table("request", "observed by", "best: requests/s", "p50", "p99", "CPU",
                  "median: requests/s", "p50", "p99", "CPU", "left of", "rate: best", "median", "CPU: best", "median",
                  "goal")
    for page, what in PAGES.items():
        for way in WAYS:
            own = results[page, way.name]
            goal = way.goal if page == "/work" else None
            parts = part_left(own, results[page, way.over]) if way.over else ()
            table.add(what if way.name == UNOBSERVED else "", way.name,
                      *(text for rate, *times in best_and_median(own)
                        for text in (f"{rate:.0f}", *(f"{us:.0f} µs" for us in times))),
                      way.over or "", *(f"{part:.3f}" for part in parts[:2]),
                      *(f"{part:.3f}" + mark(part, goal) for part in parts[2:]), *([""] * (4 - len(parts))),
                      f"≥ {goal}" if goal else "")
    return table


def mark(part, goal):
    return "" if goal is None else " ✓" if part >= goal else " ✗"
