# SPDX-License-Identifier: GPL-2.0-only
"""Part 7: reading a recording back: records a second of a core, beside python3-msgpack on the same
bytes, and how much memory a report of ten million takes."""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from processes import CORRELATOR, OTHER_CPUS, PROGRAMS, TARGET_CPUS
from tables import Table

GENERATOR = PROGRAMS / "bench_recording"
RECORDS = 1_000_000
MANY_RECORDS = 10_000_000
QUICK_PART = 100
GOAL_RECORDS_A_CPU_SECOND = 1_000_000
GOAL_RSS_BYTES = 64 << 20
# What a script that somebody wrote does: each record as a dict, the CPU of each endpoint.
SCRIPT = """
import collections, msgpack, sys
cpu = collections.Counter()
with open(sys.argv[1], "rb") as file:
    for when, record in msgpack.Unpacker(file, ext_hook=msgpack.ExtType):
        if record["kind"] == "cpu":
            cpu[record["endpoint"]] += record["cpu_ns"]
assert cpu
"""


def ways(path):
    return {
        "report": [CORRELATOR, "report", path],
        "report --by tid": [CORRELATOR, "report", "--by", "tid", path],
        "report --format json": [CORRELATOR, "report", "--format", "json", path],
        "dump": [CORRELATOR, "dump", path],
        "python3-msgpack, a sum by endpoint": [sys.executable, "-c", SCRIPT, path],
    }


def run_alone(command, **options):
    """(CPU seconds, largest RSS in bytes) of a process that has one CPU."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL,
                               preexec_fn=lambda: os.sched_setaffinity(0, TARGET_CPUS), **options)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def generate(count, output):
    return subprocess.Popen([GENERATOR, str(count)], stdout=output,
                            preexec_fn=lambda: os.sched_setaffinity(0, OTHER_CPUS))


def take_turns(path, rounds, progress):
    """{way: [CPU seconds]}: all of them once per round, the odd ones in the opposite order."""
    seconds = {way: [] for way in ways(path)}
    for number in range(rounds):
        progress(f"reading: round {number + 1} of {rounds}")
        order = list(ways(path).items())
        for way, command in order if number % 2 == 0 else order[::-1]:
            seconds[way].append(run_alone(command)[0])
    return seconds


def add_speeds(table, count, seconds):
    reference = seconds["python3-msgpack, a sum by endpoint"]
    for way, own in seconds.items():
        best, median = count / min(own), count / statistics.median(own)
        ratio = statistics.median(theirs / mine for theirs, mine in zip(reference, own))
        goal = GOAL_RECORDS_A_CPU_SECOND if way == "report" else None
        mark = "" if not goal else " ✓" if best >= goal else " ✗"
        table.add(way, "", f"{best:,.0f}{mark}", f"{median:,.0f}", f"{ratio:.1f}",
                  f"≥ {goal:,}" if goal else "")


def add_memory(table, count):
    generator = generate(count, subprocess.PIPE)
    seconds, rss = run_alone([CORRELATOR, "report", "-"], stdin=generator.stdout)
    generator.stdout.close()
    if generator.wait() != 0:
        raise RuntimeError(f"{GENERATOR} ended with {generator.returncode}")
    mark = "✓" if rss <= GOAL_RSS_BYTES else "✗"
    table.add(f"report of {count:,} records, by a pipe", "", f"{count / seconds:,.0f}", "", "", "")
    table.add("its largest RSS", "", f"{rss / 2**20:.0f} MiB {mark}", "", "",
              f"≤ {GOAL_RSS_BYTES >> 20} MiB")


def run(rounds, is_quick, progress):
    part = QUICK_PART if is_quick else 1
    table = Table("one core reads", "", "records a second of its CPU: best", "median",
                  "of python3-msgpack's (median)", "goal")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "bench.rec")
        progress(f"reading: {RECORDS // part:,} records")
        with path.open("wb") as file:
            if generate(RECORDS // part, file).wait() != 0:
                raise RuntimeError(f"{GENERATOR} cannot write {path}")
        add_speeds(table, RECORDS // part, take_turns(path, rounds, progress))
    progress(f"reading: {MANY_RECORDS // part:,} records")
    add_memory(table, MANY_RECORDS // part)
    return table
