# SPDX-License-Identifier: GPL-2.0-only
"""Installs what is missing, builds and tests. Without a PART that is the gate: what a change must pass,
on this kernel and with this Ruby."""
import argparse
import concurrent.futures
import subprocess
import sys

import history
from parts import JOBS, PARTS, RELEASE, TREE, exactly
from stages import Stages
from trials import Trials

DOCUMENT = TREE / "tests/README.md"
RESULT = RELEASE / "result.txt"  # of the last run
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
        if self.trials.results:
            print("== the longest tests, in seconds", *self.trials.longest(), sep="\n")
        print("== the stages, in minutes", *self.stages.summary(), sep="\n")
        print("== when the other parts last ran", *history.ages(DOCUMENT, TREE, [
            part for part in PARTS if part not in ("gate", "compiler")]), sep="\n")
        result = "\n".join(["== the result", *self.trials.verdict(), *self.trials.ends_of_output(),
                            "PASSED" if self.trials.passed() else "FAILED"])
        print(result, flush=True)
        RESULT.write_text(f"{result}\n")
        return 0 if self.trials.passed() else 1


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
