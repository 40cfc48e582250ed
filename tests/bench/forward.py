# SPDX-License-Identifier: GPL-2.0-only
"""Part 6: what sending costs: records a second into a receiver, CPU for a million, memory."""
import os
import statistics
import subprocess

from processes import BUILD, OTHER_CPUS, PROGRAMS, SOURCE, TARGET_CPUS, Process
from tables import Table

PROGRAM = PROGRAMS / "bench_forward"
FORWARD = SOURCE / "tests" / "forward"
RECORDS = 2_000_000
RECORDS_TO_NODE = 200_000
QUICK_PART = 100
# Of the core's time: what others leave of it is not ours to measure.
GOAL_RECORDS_A_CPU_SECOND = 300_000
# Ten minutes of 10,000 records a second: the clock does not count here, the volume does.
OUTAGE_RECORDS = 10 * 60 * 10_000
GOAL_RSS_BYTES = 48 << 20


class Receiver(Process):
    """Says its port; on other CPUs than the sender, where there are others."""

    def __init__(self, command, **options):
        super().__init__(command, stdout=subprocess.PIPE, **options)
        words = self.process.stdout.readline().split()
        if words[:1] != ["ready"]:
            raise RuntimeError(f"{command[0]} does not start")
        self.url = f"tcp://127.0.0.1:{words[1]}"

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def measure(*arguments):
    """(records, bytes, seconds, CPU seconds, RSS bytes) of one run, on one CPU."""
    run = subprocess.run([PROGRAM, *map(str, arguments)], check=True, capture_output=True,
                         text=True, preexec_fn=lambda: os.sched_setaffinity(0, TARGET_CPUS))
    records, size, wall_ns, cpu_ns, rss_bytes = map(int, run.stdout.split())
    return records, size, wall_ns / 1e9, cpu_ns / 1e9, rss_bytes


def null_receiver():
    return Receiver([PROGRAM, "sink"], cpus=OTHER_CPUS)


def node_receiver():
    subprocess.run([FORWARD / "fetch_receiver", BUILD], check=True, stdout=subprocess.DEVNULL)
    return Receiver(["node", FORWARD / "receiver.js", '{"counts": true}'], cpus=OTHER_CPUS,
                    env={**os.environ, "NODE_PATH": str(BUILD / "npm" / "node_modules")})


def rates(receiver, count, rounds):
    with receiver() as one:
        return [measure("send", one.url, count) for _ in range(rounds)]


def add_rates(table, name, runs, goal):
    speeds = [records / seconds for records, _, seconds, _, _ in runs]
    of_cpu = max(records / cpu_seconds for records, _, _, cpu_seconds, _ in runs)
    rss = max(run[4] for run in runs)
    mark = "" if not goal else " ✓" if of_cpu >= goal else " ✗"
    table.add(name, "", f"{max(speeds):,.0f}", f"{statistics.median(speeds):,.0f}",
              f"{of_cpu:,.0f}{mark}", f"{1e6 / of_cpu:.2f} s", f"{rss / 2**20:.0f} MiB",
              f"≥ {goal:,}" if goal else "")


def run(rounds, is_quick, progress):
    part = QUICK_PART if is_quick else 1
    table = Table("one core encodes and sends into", "", "records a second: best", "median",
                  "a second of its CPU", "CPU for a million", "RSS", "goal")
    progress("sending to a receiver that only acks")
    add_rates(table, "a receiver that only acks",
              rates(null_receiver, RECORDS // part, rounds), GOAL_RECORDS_A_CPU_SECOND)
    progress("sending to @fluent-org/logger's server")
    add_rates(table, "@fluent-org/logger's server",
              rates(node_receiver, RECORDS_TO_NODE // part, rounds), None)
    progress("an outage of ten minutes")
    records, size, seconds, cpu_seconds, rss_bytes = measure("outage", OUTAGE_RECORDS // part)
    mark = "✓" if rss_bytes <= GOAL_RSS_BYTES else "✗"
    table.add(f"nobody: {size >> 20} MiB on disk", "", f"{records / seconds:,.0f}", "",
              f"{records / cpu_seconds:,.0f}", f"{1e6 * cpu_seconds / records:.2f} s", f"{rss_bytes / 2**20:.0f} MiB {mark}",
              f"≤ {GOAL_RSS_BYTES >> 20} MiB")
    return table
