# SPDX-License-Identifier: GPL-2.0-only
"""Runs tests by ctest, and judges them: a test that measures (label `timing`) and fails is run again, alone,
up to twice. If it passes then, it is unsteady. Any other failure is final, and so is a sanitizer's report.
"""
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

CHANCES = 2
MAX_UNSTEADY = 8
SHOWN_LINES = 40  # of the output of what failed
MEASURES = "timing"
SKIPPED = "SKIP_RETURN_CODE=77"
SANITIZER_REPORT = re.compile(
    r"(ERROR|WARNING|SUMMARY): \w*Sanitizer|^\S+:\d+:\d+: runtime error: ", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Result:
    build: pathlib.Path
    name: str
    status: str  # "passed", "skipped" or "failed"
    seconds: float
    output: str
    labels: tuple
    environment: tuple = ()  # pairs, beside that of the run

    def measures(self):
        return MEASURES in self.labels

    def may_try_again(self):
        return self.measures() and not SANITIZER_REPORT.search(self.output)


def labels_of(build):
    """{name: labels} of all tests of a build folder."""
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    return {test["name"]: tuple(label for property_ in test.get("properties", ())
                                if property_["name"] == "LABELS" for label in property_["value"])
            for test in json.loads(listed)["tests"]}


def read_results(build, report, labels, environment):
    """The results of a report that ctest wrote as JUnit XML, which has no labels (CMake 3.25)."""
    results = []
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        status = {"run": "passed", "notrun": "skipped"}.get(case.get("status"), "failed")
        # A test that cannot be started is "notrun", too.
        if status == "skipped" and case.find("skipped").get("message") != SKIPPED:
            status = "failed"
        results.append(Result(build, case.get("name"), status, float(case.get("time", 0)),
                              case.findtext("system-out") or "", labels.get(case.get("name"), ()), environment))
    return results


def run_ctest(build, *arguments, jobs=1, prefix=(), at_once=True, environment=()):
    """Runs the tests that the arguments of ctest choose: a list of Result. at_once: what ctest says is shown as it
    comes; else at the end, in one piece. environment: pairs, beside that of the run."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.xml"
        done = subprocess.run([*prefix, "ctest", "--test-dir", build, "--output-on-failure", "--no-tests=ignore",
                               "-j", str(jobs), "--output-junit", report, *arguments], check=False, env=os.environ | dict(environment),
                              stdout=None if at_once else subprocess.PIPE, stderr=None if at_once else subprocess.STDOUT)
        if not at_once:
            sys.stdout.buffer.write(done.stdout)
            sys.stdout.flush()
        return read_results(build, report, labels_of(build), environment)


class Trials:
    """All the results of a run, and the judgement on them."""

    def __init__(self, kept, run=run_ctest, show=lambda line: print(line, flush=True)):
        """kept: the folder for the output of unsteady tests."""
        self.kept = kept
        self.run_ctest = run
        self.show = show
        self.results = []
        self.failed = []
        self.unsteady = {}  # name -> how often it failed before it passed
        self.pending = []

    def run(self, build, *arguments, **options):
        found = self.run_ctest(build, *arguments, **options)
        self.results += found
        for result in found:
            if result.status == "failed":
                (self.pending if result.may_try_again() else self.failed).append(result)

    def fail(self, build, name, output=""):
        """Something that is no test of ctest has failed."""
        self.failed.append(Result(build, name, "failed", 0, output, ()))

    def count_again(self):
        return len(self.pending)

    def try_again(self):
        """Gives what measures and failed its other chances, each alone."""
        pending, self.pending = self.pending, []
        for result in pending:
            self.keep(result, 1)
            for chance in range(1, CHANCES + 1):
                again = self.run_ctest(result.build, "-R", f"^{re.escape(result.name)}$", environment=result.environment)
                last = next((one for one in again if one.name == result.name), result)
                if last.status != "failed":
                    self.unsteady[result.name] = chance
                    break
                self.keep(last, chance + 1)
                if not last.may_try_again():
                    self.failed.append(last)
                    break
            else:
                self.failed.append(last)

    def keep(self, result, number):
        self.kept.mkdir(parents=True, exist_ok=True)
        (self.kept / f"{result.name}.{number}.log").write_text(result.output)

    def passed(self):
        return not self.failed and not self.pending and len(self.unsteady) <= MAX_UNSTEADY

    def longest(self, count=20):
        """The tests that took longest."""
        return [f"  {result.seconds:6.1f}  {result.name}" for result in
                sorted(self.results, key=lambda result: -result.seconds)[:count]]

    def verdict(self):
        """Lines: how many tests there were, what was unsteady, what failed."""
        number = {status: sum(result.status == status for result in self.results)
                  for status in ("passed", "skipped", "failed")}
        lines = [f"{len(self.results)} tests: {number['passed']} passed at once, "
                 f"{len(self.unsteady)} unsteady, {number['skipped']} skipped, "
                 f"{len(self.failed)} failed"] if self.results else []
        lines += [f"  unsteady: {name} failed {times} of {times + 1} (output in "
                  f"{os.path.relpath(self.kept)})" for name, times in self.unsteady.items()]
        if len(self.unsteady) > MAX_UNSTEADY:
            lines.append(f"  FAILED: more than {MAX_UNSTEADY} tests are unsteady")
        return lines + [f"  FAILED: {result.name} ({result.build.name})" for result in self.failed]

    def ends_of_output(self):
        """Lines: what each that failed said last."""
        return [line for result in self.failed if result.output
                for line in (f"== {result.name} ended with",
                             *result.output.splitlines()[-SHOWN_LINES:])]
