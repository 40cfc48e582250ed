# SPDX-License-Identifier: GPL-2.0-only
"""Part 2: what observing costs a process that is not observed."""
from measure import take_turns, unobserved
from processes import Attached, Correlator, Target
from tables import Table

LOOPS = {"syscall": "system call", "switch": "switch with its two system calls"}
MANY = 50
GOALS = {"1 other process": 1.15, f"{MANY} other processes": 1.15}


def run(rounds, progress):
    with Target() as one, Target(children=MANY - 1) as parent, Target() as bystander:
        ways = {
            "unobserved": unobserved,
            "floor": lambda pid: Attached("floor", pid),
            "1 other process": lambda _: Correlator(one.pid),
            f"{MANY} other processes": lambda _: Correlator(parent.pid),
            "five maps": lambda _: Attached("five_maps", one.pid),
        }
        series = take_turns(rounds, ways, LOOPS, bystander, bystander.pid, progress)
    table = Table("operation of a bystander", "observed", "min", "median", "over floor: min",
                  "median", "goal")
    for loop, what in LOOPS.items():
        none = series["unobserved", loop]
        base = series["floor", loop].added(none)
        table.add(what, "nobody", *(f"{ns:.0f} ns" for ns in none.summary()), "", "", "")
        table.add("", "floor", *(f"{ns:+.0f} ns" for ns in base), "1", "1", "")
        for way in list(ways)[2:]:
            table.add_ratio(way, series[way, loop].added(none), base, GOALS.get(way))
    return table
