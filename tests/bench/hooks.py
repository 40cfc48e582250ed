# SPDX-License-Identifier: GPL-2.0-only
"""Part 1: what observing adds to a system call, a context switch and a fiber switch."""
from measure import take_turns, unobserved
from processes import GEM_FILE, Attached, Bpftrace, Correlator, Target
from tables import Table

WAYS = {
    "unobserved": unobserved,
    "floor": lambda pids: Attached("floor", pids, "--uprobe", GEM_FILE),
    "floor of switches": lambda pids: Attached("floor", pids, "--no-syscalls"),
    "exact": Correlator,
    "lean": lambda pids: Correlator(pids, "--lean"),
    "io": lambda pids: Correlator(pids, "--io"),
    "syscalls": lambda pids: Correlator(pids, "--syscalls"),
    "no-kernel-split": lambda pids: Correlator(pids, "--no-kernel-split"),
    "timeline": lambda pids: Correlator(pids, "--timeline"),
    "stall": lambda pids: Correlator(pids, "--stall"),
    "lean, no-kernel-split": lambda pids: Correlator(pids, "--lean", "--no-kernel-split"),
    "five maps": lambda pids: Attached("five_maps", pids),
    "five maps, switches": lambda pids: Attached("five_maps", pids, "--no-syscalls"),
}

# (what, loop, the floor's way, ways, {way: goal})
ROWS = [
    ("system call", "syscall", "floor",
     ("exact", "syscalls", "stall", "lean", "no-kernel-split", "five maps", "bpftrace"), {"exact": 2.0}),
    ("recv() of nothing, TCP", "receive", "floor", ("exact", "io", "syscalls"), {}),
    ("pread() of a byte", "read", "floor", ("exact", "io", "syscalls"), {}),
    ("switch alone", "switch", "floor of switches",
     ("no-kernel-split", "lean, no-kernel-split", "five maps, switches"), {"no-kernel-split": 3.0}),
    ("switch with its two system calls", "switch", "floor",
     ("exact", "syscalls", "timeline", "stall", "lean", "five maps", "bpftrace"), {"exact": 3.0}),
    ("change of context", "apply", "floor", ("exact", "timeline", "no-kernel-split"),
     {"exact": 1.3, "no-kernel-split": 1.3}),
    ("switch of fibers between two contexts", "fiber", "floor",
     ("exact", "timeline", "no-kernel-split", "lean", "five maps"), {"exact": 1.9}),
    # No probe is in its way but the timeline's: there is no floor to compare with.
    ("switch of fibers that have a context in common", "common_fiber", None, ("exact", "timeline"), {}),
]


def run(rounds, loops, progress):
    rows = [row for row in ROWS if row[1] in loops]
    wanted = {"unobserved"}.union(*({floor, *observers} for _, _, floor, observers, _ in rows)) - {None}
    ways = {name: observe for name, observe in WAYS.items() if name in wanted}
    if "bpftrace" in wanted and Bpftrace.is_installed():
        ways["bpftrace"] = Bpftrace
    with Target() as target:
        series = take_turns(rounds, ways, loops, target, target.pid, progress)
    table = Table("operation", "observed by", "min", "median", "over floor: min", "median", "goal")
    for what, loop, floor, observers, goals in rows:
        none = series["unobserved", loop]
        base = series[floor, loop].added(none) if floor else None
        table.add(what, "nobody", *(f"{ns:.0f} ns" for ns in none.summary()), "", "", "")
        if base:
            table.add("", "floor", *(f"{ns:+.0f} ns" for ns in base), "1", "1", "")
        for way in observers:
            if way not in ways:
                table.add("", way, "not installed", "", "", "", "")
                continue
            table.add_ratio(way, series[way, loop].added(none), base, goals.get(way))
    return table
