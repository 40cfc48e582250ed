# SPDX-License-Identifier: GPL-2.0-only
"""Part 4: what many live contexts and many threads cost, and what Correlator itself takes."""
import os
import pathlib
import re
import time

from measure import take_turns, unobserved
from processes import GEM_FILE, Attached, Correlator, Target
from tables import Table

CONTEXTS = (1, 100, 10_000)
THREADS = (1, 100, 2000)
FLAT = 1.2
RSS_GOAL_MIB = 32
WATCH_SECONDS = 3
WAYS = {
    "unobserved": unobserved,
    "floor": lambda pid: Attached("floor", pid, "--uprobe", GEM_FILE),
    "exact": Correlator,
}


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_rss_mib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024


def maps_mib(pid):
    """Kernel memory of the maps, as the kernel accounts it."""
    sizes = {}
    for info in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        text = info.read_text()
        if (size := re.search(r"memlock:\s+(\d+)", text)) and (
                number := re.search(r"map_id:\s+(\d+)", text)):
            sizes[number[1]] = int(size[1])
    return sum(sizes.values()) / 2**20


def self_cost(target, loop):
    """(CPU % of one CPU, peak RSS MiB, maps MiB) of Correlator while the loop runs."""
    with Correlator(target.pid) as correlator:
        start, before = time.monotonic(), cpu_seconds(correlator.pid)
        while time.monotonic() - start < WATCH_SECONDS:
            target.best_ns(loop, 20_000, 10)
        used = cpu_seconds(correlator.pid) - before
        return (100 * used / (time.monotonic() - start), peak_rss_mib(correlator.pid),
                maps_mib(correlator.pid))


def measure(rounds, progress, what, loop, sizes, make):
    """Rows of one kind of growth: each size, against the smallest."""
    smallest = None
    for size in sizes:
        progress(f"{what}: {size}")
        with make(size) as target:
            series = take_turns(rounds, WAYS, [loop], target, target.pid, progress)
            own = self_cost(target, loop)
        none = series["unobserved", loop]
        added = series["exact", loop].added(none)
        base = series["floor", loop].added(none)
        smallest = smallest or added
        yield size, base, added, [mine / least for mine, least in zip(added, smallest)], own


def run(rounds, progress):
    table = Table("growth", "event", "floor: min", "median", "exact: min", "median",
                  "over the smallest: min", "median", "goal", "own CPU", "own RSS", "maps")
    kinds = [
        ("live contexts", "change of context", "apply", CONTEXTS,
         lambda size: Target(contexts=size)),
        ("threads", "switch with its two system calls", "switch", THREADS,
         lambda size: Target(threads=size)),
    ]
    for what, event, loop, sizes, make in kinds:
        for size, base, added, ratios, own in measure(rounds, progress, what, loop, sizes, make):
            cpu, rss, maps = own
            is_first = size == sizes[0]
            mark = "" if what == "threads" else Table.mark(rss, RSS_GOAL_MIB)
            table.add(f"{what}: {size:,}", event, *(f"{ns:+.0f} ns" for ns in (*base, *added)),
                      *("1" if is_first else f"{ratio:.2f}{Table.mark(ratio, FLAT)}"
                        for ratio in ratios),
                      "" if is_first else f"≤ {FLAT}", f"{cpu:.1f} %", f"{rss:.0f} MiB{mark}",
                      f"{maps:.0f} MiB")
    return table
