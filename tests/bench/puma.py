# SPDX-License-Identifier: GPL-2.0-only
"""Part 3: what observing takes from a web server."""
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
GOAL = 0.97
PAGES = {"/work": "about 2 ms of work", "/cheap": "the cheapest possible"}
WAYS = {
    "unobserved": unobserved,
    "exact": Correlator,
    "lean": lambda pid: Correlator(pid, "--lean"),
    "no-kernel-split": lambda pid: Correlator(pid, "--no-kernel-split"),
    "exact, 99 stacks a second": lambda pid: Correlator(pid, "--stacks=99"),
}


class Puma(Signalled):
    """One process that serves app.ru on the target's CPU."""

    def __init__(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        super().__init__(["puma", "-e", "production", "-q", "-t", f"{THREADS}:{THREADS}", "-b",
                          f"tcp://127.0.0.1:{self.port}", FOLDER / "app.ru"],
                         cpus=frozenset(TARGET_CPUS), stdout=subprocess.DEVNULL,
                         env={**os.environ, "RUBYLIB": str(BUILD / "ruby" / "lib")})
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


def run(rounds, seconds, progress):
    results = {(page, way): [] for page in PAGES for way in WAYS}
    with Puma() as puma:
        for page in PAGES:
            puma.load(page, seconds)
        for number in range(rounds):
            progress(f"Puma: round {number + 1} of {rounds}")
            await_quiet(progress)
            for way in list(WAYS) if number % 2 == 0 else list(WAYS)[::-1]:
                with WAYS[way](puma.pid):
                    for page in PAGES:
                        results[page, way].append(puma.load(page, seconds))
    table = Table("request", "observed by", "best: requests/s", "p50", "p99", "CPU",
                  "median: requests/s", "p50", "p99", "CPU", "rate over unobserved: best", "median",
                  "goal")
    for page, what in PAGES.items():
        none = results[page, "unobserved"]
        for way in WAYS:
            own = best_and_median(results[page, way])
            ratios = (own[0][0] / best_and_median(none)[0][0],
                      statistics.median(mine[0] / base[0]
                                        for mine, base in zip(results[page, way], none)))
            has_goal = page == "/work" and way == "exact"
            table.add(what if way == "unobserved" else "", way,
                      *(text for rate, *times in own
                        for text in (f"{rate:.0f}", *(f"{us:.0f} µs" for us in times))),
                      *(f"{ratio:.3f}" + mark(ratio, has_goal) for ratio in ratios),
                      f"≥ {GOAL}" if has_goal else "")
    return table


def mark(ratio, has_goal):
    return (" ✓" if ratio >= GOAL else " ✗") if has_goal else ""
