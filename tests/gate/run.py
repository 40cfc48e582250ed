# SPDX-License-Identifier: GPL-2.0-only
"""Installs what is missing, builds and tests. Without a PART that is the gate: what a change must pass,
on this kernel and with this Ruby."""
import argparse
import collections.abc
import concurrent.futures
import csv
import dataclasses
import os
import pathlib
import re
import subprocess
import sys

import history
from stages import Stages
from trials import Trials

TREE = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = TREE / "tests/README.md"
JOBS = os.cpu_count() or 1
RELEASE, SANITIZED, THREADS = (TREE / name for name in ("build", "build-debug", "build-threads"))
# Tests that run only in their part; most exist only where it is built.
PART_LABELS = "matrix|kernels|loads|soak|^long$"
EPILOG = """examples:
  tests/run                        the gate: what a change must pass, in some 10 minutes
  tests/run --all                  everything: before a release, some hours
  tests/run kernels=6.1,newest     two other kernels alone
  tests/run kernels=5.10,turn      5.10, and one of the others, chosen by the number of commits
  tests/run soak=3600              a daemon for an hour
  tests/run --tests live.split     of the gate's tests those whose names match
Kernel tests need root and a kernel with BTF: without, they are skipped, which is a failure if CI=true.
Exit status: 0 if all passed, 1 if not, 2 for a wrong argument.
"""


def rows(file):
    with open(TREE / "tests" / file, encoding="ascii") as table:
        return list(csv.DictReader(table))


KERNELS = [row["kernel"] for row in rows("kernels/kernels.csv")]
RUBIES = [row["root"] for row in rows("matrix/suites.csv")]


def architectures(kernel_names):
    return sorted({row["architecture"] for row in rows("kernels/kernels.csv") if row["kernel"] in kernel_names})


# Labels of tests that disturb no test with the label `alone`: they start no Ruby.
PURE = "^(check|bpf|html|fetch)$"


def exactly(names):
    return "^(" + "|".join(map(re.escape, names)) + ")$"


class Run:
    """One run: its stages, its results, and how it builds."""

    def __init__(self, pattern):
        self.stages = Stages(RELEASE / "stages.json")
        self.trials = Trials(RELEASE / "unsteady")
        self.chosen = ("-R", pattern) if pattern else ()
        self.options = {}
        self.tests_of = {}  # part: its results

    def stage(self, name, what):
        return self.stages.stage(name, what)

    def do(self, *command, required=True, **options):
        """A step of a stage; the tests of what a step that is not required makes fail later."""
        done = subprocess.run([str(word) for word in command], cwd=TREE, check=False, **options)
        if required and done.returncode:
            sys.exit(f"FAILED: {' '.join(str(word) for word in command)}: exit status {done.returncode}")
        return done.returncode == 0

    def configure(self, folder, *options):
        self.do("tests/configure", folder, "-DCORRELATOR_WERROR=ON", *options)

    def build(self, folder, *targets):
        self.do("cmake", "--build", folder, "-j", JOBS, *(word for target in targets
                                                         for word in ("--target", target)), "--", "--quiet")

    def build_release(self, **parts):
        """parts: which tests it has besides, MATRIX, KERNELS or SOAK_SECONDS; they stay."""
        self.options.update(parts)
        values = {"MATRIX": "OFF", "KERNELS": "OFF", "SOAK_SECONDS": 0, **self.options}
        self.configure(RELEASE, "-DCORRELATOR_UNIT_TESTS=OFF",
                       *(f"-DCORRELATOR_{name}={value}" for name, value in values.items()))
        self.build(RELEASE)

    def test(self, build, *arguments, **options):
        self.trials.run(build, *arguments, **options)

    def do_lanes(self, lanes):
        """Runs lanes of Builds and Tests beside each other. Output of tests of several is shown by the piece."""
        def do(lane):
            for step in lane:
                with self.stage(step.name, step.what):
                    step.do(self, at_once=len(lanes) == 1)

        with concurrent.futures.ThreadPoolExecutor(len(lanes)) as executor:
            for done in [executor.submit(do, lane) for lane in lanes]:
                done.result()

    def do_part(self, name, value):
        seen = len(self.trials.results)
        PARTS[name].does(self, value)
        self.tests_of[name] = self.trials.results[seen:]

    def result_of(self, name, value):
        """A part's result in a few words."""
        failed = {result.name for result in self.trials.failed}
        mine = [result.name for result in self.tests_of[name]] or [name]
        what = f"{len(mine)} tests" if self.tests_of[name] else "done"
        if isinstance(value, int):
            what += f", {value} s"
        elif value and value != PARTS[name].choices:
            what += f", {' '.join(value)} alone"
        bad = [test for test in mine if test in failed]
        return what + (f", FAILED: {' '.join(bad)}" if bad else ", passed")

    def finish(self):
        """Other chances, the summary; the exit status."""
        if self.trials.count_again():
            with self.stage("again", "what measures and failed, alone"):
                self.trials.try_again()
        self.stages.save()
        print("== the longest tests, in seconds", *self.trials.longest(), sep="\n")
        print("== the stages, in minutes", *self.stages.summary(), sep="\n")
        print("== when the other parts last ran", *history.ages(DOCUMENT, TREE, [
            part for part in PARTS if part not in ("gate", "compiler")]), sep="\n")
        print("== the result", *self.trials.verdict(), sep="\n")
        print("PASSED" if self.trials.passed() else "FAILED", flush=True)
        return 0 if self.trials.passed() else 1


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
    time: for windows, for attaching, for the kernel. So what must run one by one has the other builds beside it, and
    of the rest there are more at a time than processors. A test that measures counts twice (tests/labels.cmake)."""
    release = Build("release build", "the tool, the gem and what tests need, by gcc", Run.build_release)
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
    return ((release,),), ((alone,), pure), ((others,),)


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


def run_elsewhere(run, parts, fetching):
    """Prepares parts and runs their tests beside each other: an emulator has one processor, mostly."""
    with run.stage("fetch", "kernels and roots"):
        fetching.wait()
    with run.stage("elsewhere", "; ".join(f"{name} {' '.join(value or ())}".strip() for name, value in parts)):
        names = {name: PARTS[name].elsewhere(run, value) for name, value in parts}
        seen = len(run.trials.results)
        run.test(RELEASE, "-L", "matrix|kernels|loads", "-R", exactly(sum(names.values(), [])), jobs=JOBS)
        for name, tests in names.items():
            run.tests_of[name] = [result for result in run.trials.results[seen:] if result.name in tests]


def long(run, _value):
    with run.stage("long", "what the gate has no time for, or not for all of it (tests/long.csv)"):
        os.environ["CORRELATOR_LONG"] = "1"
        run.build_release()
        run.test(RELEASE, "-L", "^long")
        del os.environ["CORRELATOR_LONG"]


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


def part_argument(text):
    name, equals, value = text.partition("=")
    if name not in PARTS:
        raise argparse.ArgumentTypeError(f"there is no part {name}, but {', '.join(PARTS)}")
    return name, PARTS[name].read(name, value if equals else None)


def read_arguments(words):
    rows = "".join(f"  {name + part.takes():30} {part.what}\n" for name, part in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="tests/run", description=__doc__, epilog=f"parts:\n{rows}\n{EPILOG}",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", metavar="PART", nargs="*", type=part_argument,
                        help="a part alone (default: gate)")
    parser.add_argument("--all", action="store_true", help="everything: all parts")
    parser.add_argument("--record", action="store_true",
                        help="write each part's result to the table in tests/README.md")
    parser.add_argument("--tests", metavar="PATTERN",
                        help="of the gate's tests only those that match a regular expression, as ctest -R")
    arguments = parser.parse_args(words)
    if arguments.all:
        arguments.parts = [part_argument(name) for name in PARTS]
    if arguments.record and history.git(TREE, "status", "--porcelain") != "":
        parser.error("--record names the commit that was tested: commit the changes first")
    arguments.parts = arguments.parts or [part_argument("gate")]
    return arguments


class Fetching:
    """What parts need from the network, fetched beside what is built: for half of the time it waits."""

    def __init__(self, parts):
        self.log = RELEASE / "fetch.log"
        self.log.parent.mkdir(exist_ok=True)
        with self.log.open("w") as log:
            self.processes = [
                subprocess.Popen([TREE / "tests" / script, RELEASE / folder, *(arguments or value or ())],
                                 cwd=TREE, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
                for name, value in parts for script, folder, *arguments in PARTS[name].fetch]

    def wait(self):
        """Tests of what could not be fetched fail."""
        for process in self.processes:
            process.wait()
        print(self.log.read_text(), end="", flush=True)
        self.processes = []


def main(words):
    arguments = read_arguments(words)
    parts = arguments.parts
    run = Run(arguments.tests)
    needs_emulator = any(script.startswith("kernels/") for name, _ in parts for script, *_ in PARTS[name].fetch)
    with run.stage("install", "Debian's packages that are missing"):
        run.do("tests/install", *(["--kernels"] if needs_emulator else []))
    elsewhere = [(name, value) for name, value in parts if PARTS[name].elsewhere]
    fetching = None
    for name, value in parts:
        # Not beside the gate, which measures.
        if name != "gate" and not fetching:
            fetching = Fetching(elsewhere)
        if PARTS[name].does:
            run.do_part(name, value)
        elif name == elsewhere[0][0]:
            run_elsewhere(run, elsewhere, fetching)
    status = run.finish()
    if arguments.record:
        history.record(DOCUMENT, TREE, {name: run.result_of(name, value) for name, value in parts})
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
