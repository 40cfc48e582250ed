# SPDX-License-Identifier: GPL-2.0-only
"""Part 10: what observing takes from a server of fibers, of which each request yields ten times."""
import statistics
import subprocess
import time

from measure import unobserved
from processes import FOLDER, RUBY, TARGET_CPUS, Correlator, Process, cpu_ns
from quiet import await_quiet
from tables import Table

WAYS = {
    "unobserved": unobserved,
    "exact": Correlator,
    "lean": lambda pid: Correlator(pid, "--lean"),
    "no-kernel-split": lambda pid: Correlator(pid, "--no-kernel-split"),
    "timeline": lambda pid: Correlator(pid, "--timeline"),
}


class EventLoop(Process):
    """async.rb on the target's CPU, which it uses whole."""

    def __init__(self):
        super().__init__([*RUBY, FOLDER / "async.rb"], cpus=frozenset(TARGET_CPUS), stdout=subprocess.PIPE)
        self.await_line(self.process.stdout, "ready")

    def count(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def request_us(self, seconds):
        """CPU of the process for each of its requests, in µs."""
        requests, used_ns = -self.count(), -cpu_ns(self.pid)
        time.sleep(seconds)
        requests, used_ns = requests + self.count(), used_ns + cpu_ns(self.pid)
        return used_ns / requests / 1000


def run(rounds, seconds, progress):
    results = {way: [] for way in WAYS}
    with EventLoop() as server:
        server.request_us(seconds)
        for number in range(rounds):
            progress(f"event loop: round {number + 1} of {rounds}")
            await_quiet(progress)
            for way in list(WAYS) if number % 2 == 0 else list(WAYS)[::-1]:
                with WAYS[way](server.pid):
                    results[way].append(server.request_us(seconds))
    table = Table("request", "observed by", "min", "median", "added: min", "median")
    none = results["unobserved"]
    for way, own in results.items():
        added = (min(own) - min(none), statistics.median(mine - base for mine, base in zip(own, none)))
        table.add("ten turns of a fiber" if way == "unobserved" else "", way,
                  *(f"{us:.2f} µs" for us in (min(own), statistics.median(own))),
                  *("" if way == "unobserved" else f"{us:+.2f} µs" for us in added))
    return table
