# SPDX-License-Identifier: GPL-2.0-only
"""The parts of everything that tests/run can do: the stages of the gate, and what runs each other part. A `run` is
run.py's."""
import argparse
import collections.abc
import csv
import dataclasses
import os
import pathlib
import re
import subprocess

import history

TREE = pathlib.Path(__file__).resolve().parents[2]
JOBS = os.cpu_count() or 1
RELEASE, SANITIZED, THREADS = (TREE / name for name in ("build", "build-debug", "build-threads"))
# Tests that run only in their part; most exist only where it is built.
PART_LABELS = "matrix|kernels|loads|soak|^long$"
# Labels of tests that disturb no test with the label `alone`: they start no Ruby.
PURE = "^(check|bpf|html|fetch)$"


def rows(file):
    with open(TREE / "tests" / file, encoding="ascii") as table:
        return list(csv.DictReader(table))


KERNELS = [row["kernel"] for row in rows("kernels/kernels.csv")]
RUBIES = [row["root"] for row in rows("matrix/suites.csv")]


def architectures(kernel_names):
    return sorted({row["architecture"] for row in rows("kernels/kernels.csv") if row["kernel"] in kernel_names})


def exactly(names):
    return "^(" + "|".join(map(re.escape, names)) + ")$"


def build_sanitized(run, *targets):
    # Mutants are built alike, and find in the cache what is not different.
    os.environ.update(CCACHE_DIR=str(RELEASE / "ccache"), CCACHE_BASEDIR=str(TREE), CCACHE_NOHASHDIR="true",
                      CCACHE_IGNOREOPTIONS="-Werror")
    run.configure(SANITIZED, "-DCMAKE_C_COMPILER=clang", "-DCMAKE_C_COMPILER_LAUNCHER=ccache",
                  "-DCMAKE_BUILD_TYPE=Debug", "-DCORRELATOR_GEM=OFF")
    run.build(SANITIZED, *targets)


def build_threads(run):
    run.configure(THREADS, "-DCORRELATOR_SANITIZE=thread", "-DCORRELATOR_GEM=OFF")
    run.build(THREADS, "threads")


def fixed_addresses():
    """With many random bits in addresses ThreadSanitizer finds no place for its shadow memory."""
    words = ("setarch", "-R")
    return words if subprocess.run([*words, "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0 else ()


@dataclasses.dataclass(frozen=True)
class Build:
    """A stage that builds."""
    name: str
    what: str
    does: collections.abc.Callable

    def do(self, run, at_once):
        self.does(run)


@dataclasses.dataclass(frozen=True)
class Tests:
    """A stage of tests: which of which build, and how many beside each other."""
    name: str
    what: str
    build: pathlib.Path
    arguments: tuple
    jobs: int
    prefix: tuple = ()

    def do(self, run, at_once):
        run.test(self.build, *self.arguments, *run.chosen, jobs=self.jobs, prefix=self.prefix, at_once=at_once)


def gate_stages():
    """What the gate does, in order: groups, of lanes that run beside each other. Live tests wait for half of their
    time: for windows, for attaching, for the kernel. So they have the other builds beside them, first those that must
    run one by one, and then more of the rest at a time than there are processors. A test that measures counts twice
    (tests/labels.cmake)."""
    release = Build("release build", "the tool, the gem and what tests need, by gcc",
                    lambda run: run.build_release())
    alone = Tests("alone", "what another live test would disturb, one by one", RELEASE,
                  ("-L", "^alone$", "-LE", PART_LABELS), 1)
    pure = (Build("sanitized build", "unit tests by clang, for AddressSanitizer and UndefinedBehaviorSanitizer",
                  lambda run: build_sanitized(run, "unit")),
            Tests("unit", "pure code, under these", SANITIZED, ("-L", "unit"), JOBS),
            Build("threads build", "the tests of what has threads, by gcc, for ThreadSanitizer", build_threads),
            Tests("threads", "what has threads, under it", THREADS, ("-L", "threads"), JOBS, fixed_addresses()),
            Tests("checks", "format, layers, documents; the programs in this kernel; the page", RELEASE,
                  ("-L", PURE), JOBS))
    others = Tests("others", "the gem, live tests and laws", RELEASE,
                   ("-LE", f"{PURE}|^alone$|unit|{PART_LABELS}"), 3 * JOBS)
    return ((release,),), ((alone, others), pure)


def gate_tests():
    """The stages of these that are tests."""
    return [step for lanes in gate_stages() for lane in lanes for step in lane if isinstance(step, Tests)]


def gate(run, _value):
    for lanes in gate_stages():
        run.do_lanes(lanes)


def compiler(run, _value):
    with run.stage("second compiler", "by clang what was built by gcc, and by gcc what was by clang"):
        build_sanitized(run)
        run.configure(TREE / "build-gcc", "-DCMAKE_BUILD_TYPE=None", "-DCORRELATOR_GEM=OFF")
        run.build(TREE / "build-gcc", "unit")


def loads(run, names):
    run.build_release(KERNELS="ON")
    for architecture in architectures(names):
        run.do("tests/kernels/build_loader", RELEASE, architecture, required=False)
    # A kernel that is another one's image with other settings has no test of its own.
    return [f"loads.{name}" for name in names]


def rubies(run, names):
    run.build_release(MATRIX="ON")
    return [f"matrix.{name}{test}" for name in names for test in ("", ".build", ".gem")]


def kernels(run, names):
    run.build_release(KERNELS="ON")
    if "arm64" in architectures(names):
        run.do("tests/kernels/build_arm64", RELEASE / "kernels", JOBS, required=False)
    return [f"kernels.{name}" for name in names]


def fresh(run, _value):
    run.build_release(KERNELS="ON")
    return ["kernels.fresh_root", "kernels.package"]


def long(run, _value):
    with run.stage("long", "what the gate has no time for, or not for all of it (tests/long.csv)"):
        run.build_release()
        run.test(RELEASE, "-L", "^long", environment=(("CORRELATOR_LONG", "1"),))


def soak(run, seconds):
    with run.stage("soak", f"a daemon for {seconds} s, and short years of processes and files"):
        run.build_release(SOAK_SECONDS=seconds)
        run.test(RELEASE, "-L", "soak")


def fuzz(run, seconds):
    with run.stage("fuzz", f"each fuzzer for {seconds} s"):
        if not run.do("tests/fuzz/run", seconds, required=False):
            run.trials.fail(TREE / "build-fuzz", "fuzz")


def mutation(run, seconds):
    with run.stage("mutation", f"planted faults for {seconds} s"):
        build_sanitized(run, "unit")
        # What is built there with warnings must not be found by the build that refuses them.
        if not run.do("tests/mutation/run", "--native", "--seconds", seconds, required=False,
                      env={**os.environ, "CCACHE_READONLY": "true"}):
            run.trials.fail(RELEASE, "mutation")


class Part:
    """A part of everything. does: what runs it; elsewhere: what prepares it, and returns the names of its tests, which
    run beside those of other such parts. fetch: commands that fetch what it needs: a script of tests/, a folder of
    the build, and arguments, by default the choices. choices: the names that the part takes, by default all of
    them. Else it may take seconds."""

    def __init__(self, what, does=None, elsewhere=None, fetch=(), choices=(), seconds=None):
        self.what = what
        self.does = does
        self.elsewhere = elsewhere
        self.fetch = fetch
        self.choices = choices
        self.seconds = seconds

    def takes(self):
        return "[=turn|NAME,...]" if self.choices else "[=SECONDS]" if self.seconds else ""

    def read(self, name, value):
        """The value that `does` takes, of the text behind "=", None if there is none."""
        if self.choices:
            return self.read_names(name, value)
        if value is None:
            return self.seconds
        if not self.seconds:
            raise argparse.ArgumentTypeError(f"{name} takes no value")
        if not re.fullmatch("[1-9][0-9]*", value):
            raise argparse.ArgumentTypeError(f"{name}={value}: not a number of seconds")
        return int(value)

    def read_names(self, part, value):
        if value is None:
            return self.choices
        names = [name for name in value.split(",") if name != "turn"]
        for name in names:
            if name not in self.choices:
                raise argparse.ArgumentTypeError(f"{part}: there is no {name}, but {', '.join(self.choices)}")
        if "turn" in value.split(","):
            # Where git does not count, it is always the first one's turn.
            count = int(history.git(TREE, "rev-list", "--count", "HEAD") or 0)
            names += take_turn([choice for choice in self.choices if choice not in names], count)
        return names


PARTS = {
    "gate": Part("builds; unit tests under sanitizers; all others on this kernel, with this Ruby", gate),
    "compiler": Part("the same sources by the other compiler", compiler),
    "loads": Part("whether each kernel loads each program in each mode", elsewhere=loads, choices=KERNELS,
                  fetch=[("kernels/fetch", "kernels")]),
    "rubies": Part("other Rubies, in roots of other Debians", elsewhere=rubies, choices=RUBIES,
                   fetch=[("matrix/roots", "matrix")]),
    "kernels": Part("other kernels, emulated", elsewhere=kernels, choices=KERNELS,
                    fetch=[("kernels/images", "kernels")]),
    "fresh": Part("README's demo and Debian's package, in a Debian 12 of nothing but its base", elsewhere=fresh,
                  fetch=[("kernels/images", "kernels", "6.1"), ("kernels/fresh_root", "kernels"),
                         ("kernels/package_root", "kernels")]),
    "long": Part("the tests that take too long for the gate", long),
    "soak": Part("a daemon over a long time", soak, seconds=450),
    "fuzz": Part("each fuzzer", fuzz, seconds=30),
    "mutation": Part("planted faults, which tests must catch", mutation, seconds=300),
}


def take_turn(choices, count):
    """One of several, another one with each commit; of none, none."""
    return [choices[count % len(choices)]] if choices else []
