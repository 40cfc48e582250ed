# SPDX-License-Identifier: GPL-2.0-only
"""Part 9: what a sample of a stack takes, and one of a wait, by the kernel's own measurement of the
programs, and what naming the stacks takes of our process."""
import collections
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

from processes import CORRELATOR, FOLDER, PROGRAMS, RUBY, TARGET_CPUS, Correlator, Process
from tables import Table

DEPTHS = (50, 200, 1000)
WAYS = {"no native frame": "off", "with the native leaf": "leaf"}
NATIVE_WAYS = {"in OpenSSL, no native frame": "off", "the native leaf": "leaf", "native callers": "full"}
HZ = 999
SECONDS = 5
QUICK_SECONDS = 1
NAP_MS = 0.2
GOALS_NS = {200: {"no native frame": 5000}}


class Deep(Process):
    """deep.rb."""

    def __init__(self, depth, *at_the_top):
        super().__init__([*RUBY, FOLDER / "deep.rb", depth, *at_the_top], cpus=frozenset(TARGET_CPUS),
                         stdout=subprocess.PIPE)
        self.pointer = self.await_line(self.process.stdout, "ready").split()[1]


def record(pid, seconds, *options):
    """{kind: [record]} of so long."""
    found = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "bench.rec")
        with Correlator(pid, "-k", "request_id", "--measure", *options, output=path):
            time.sleep(seconds)  # what is measured
        dump = subprocess.run([CORRELATOR, "dump", path], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
    for entry in map(json.loads, dump.splitlines()):
        found[entry["kind"]].append(entry)
    return found


def total(found, kind, field):
    return sum(record.get(field, 0) for record in found[kind])


def own_share(found):
    """Of one CPU; without the first window, in which Ruby is read and the layout of its frames found."""
    windows = {"self": found["self"][1:] or found["self"]}
    return total(windows, "self", "own_cpu_ns") / total(windows, "self", "window_ns")


def deepest(found):
    """Frames of Ruby in the deepest stack."""
    frames = {stack["stack_id"]: stack for stack in found["stack"]}
    depths = {None: 0}
    for stack in frames:
        path = []
        while stack not in depths:
            path.append(stack)
            stack = frames[stack].get("parent_id")
        for step in reversed(path):
            depths[step] = depths[stack] + (frames[step]["frame_kind"] in ("ruby", "c"))
            stack = step
    return max(depths.values())


def take_turns(pid, rounds, seconds, ways):
    """{way: [(ns in the program, ns of our CPU) for a sample]}, and frames of the deepest stack."""
    figures, frames = {way: [] for way in ways}, 0
    for _ in range(rounds):
        none = own_share(record(pid, seconds))
        for way, option in ways.items():
            found = record(pid, seconds, f"--stacks={HZ}", f"--native-stacks={option}")
            samples = total(found, "sample", "samples")
            added = (own_share(found) - none) * total(found, "self", "window_ns")
            # On the other CPU it runs, too, and finds nobody that is observed: that is in it.
            figures[way].append((total(found, "self", "bpf_on_sample_ns") / samples, added / samples))
            frames = max(frames, deepest(found))
    return figures, frames


def take_turns_asleep(pid, rounds, seconds):
    """[(ns in the programs, ns of our CPU) for a wait, more than without], and frames of the deepest."""
    figures, frames = [], 0
    for _ in range(rounds):
        none = record(pid, seconds)
        found = record(pid, seconds, "--stacks=1,off-cpu")
        waits = total(found, "sample", "waits")
        without_ns = (total(none, "self", "bpf_on_sched_switch_ns") /
                      total(none, "cpu", "switches_voluntary"))
        switches_ns = total(found, "self", "bpf_on_leaving_cpu_ns") + total(
            found, "self", "bpf_on_sched_switch_ns")
        added = (own_share(found) - own_share(none)) * total(found, "self", "window_ns")
        figures.append((switches_ns / waits - without_ns, added / waits))
        frames = max(frames, deepest(found))
    return figures, frames


def read_outside(deep, rounds, seconds):
    """[ns of CPU of a program that reads the same frames from outside], and how many they were."""
    figures, frames = [], 0
    for _ in range(rounds):
        said = subprocess.run([PROGRAMS / "bench_outside", str(deep.pid), deep.pointer, str(HZ),
                               str(seconds)], check=True, text=True, stdout=subprocess.PIPE).stdout
        _, frames, _, cpu_ns = map(int, said.split())
        figures.append(cpu_ns)
    return figures, frames


def add_row(table, frames, way, figures, goal):
    kernel_ns, own_ns = zip(*figures)
    table.add(f"{frames}", way,
              *(f"{ns / 1000:.1f} µs{Table.mark(ns, goal)}"
                for ns in (min(kernel_ns), statistics.median(kernel_ns))),
              f"≤ {goal / 1000:.0f} µs" if goal else "",
              *(f"{ns / 1000:.1f} ms" for ns in (min(own_ns), statistics.median(own_ns))))


def run(rounds, is_quick, progress):
    table = Table("a sample of frames", "", "in the kernel: min", "median", "goal",
                  "CPU of ours for 1,000: min", "median")
    seconds = QUICK_SECONDS if is_quick else SECONDS
    for depth in DEPTHS:
        progress(f"stacks: {depth} frames")
        with Deep(depth) as deep:
            figures, frames = take_turns(deep.pid, rounds, seconds, WAYS)
            outside, frames_outside = read_outside(deep, rounds, seconds)
        for way, of_rounds in figures.items():
            add_row(table, frames, way, of_rounds, GOALS_NS.get(depth, {}).get(way))
        table.add(f"{frames_outside}", "read from outside", "", "", "",
                  *(f"{ns / 1000:.1f} ms" for ns in (min(outside), statistics.median(outside))))
        progress(f"stacks: waits in {depth} frames")
        with Deep(depth, NAP_MS) as deep:
            figures, frames = take_turns_asleep(deep.pid, rounds, seconds)
        add_row(table, frames, "a wait (off-cpu)", figures, None)
    progress("stacks: native callers")
    with Deep(DEPTHS[0], "native") as deep:
        figures, frames = take_turns(deep.pid, rounds, seconds, NATIVE_WAYS)
    for way, of_rounds in figures.items():
        add_row(table, frames, way, of_rounds, None)
    return table
