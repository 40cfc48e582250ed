# SPDX-License-Identifier: GPL-2.0-only
"""Runs the gate's tests, as tests/run has built them, many times, and prints how often each one failed and
what it said."""
import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

import parts
import trials

EPILOG = """examples:
  tests/steady -n 40 --noise live.service     one test, beside noise
  tests/steady -n 5 unit check                all unit tests and checks
  tests/steady -n 40 --noise --resume         all tests; go on with the rounds of the last call
Goals, of 40 runs with --noise: no failure of a test that is pure, at most one of a test that measures.
Exit status: 0 if all keep to that rate, 1 if not.
"""
KEPT = parts.RELEASE / "steady"
# A line of JSON for each whole round: what run_of() says of each test.
ROUNDS = KEPT / "rounds.jsonl"
MEASURED_RATE = 1 / 40
# In a test's output, what says why it failed; the last one counts.
REASON = re.compile(r"^(\w*(Error|Exception|Failure)\b.*|.*\b(error|ERROR|FAILED|failed):.*|\[  ERROR.*)$",
                    re.MULTILINE)
MEMORY_BYTES = 2 << 30
BUSY = "while True: pass"
MEMORY = f"""memory = bytearray({MEMORY_BYTES})
while True:
    for page in range(0, len(memory), 4096): memory[page] ^= 1"""
DISK = """import os, sys
block = os.urandom(1 << 20)
while True:
    with open(sys.argv[1], "wb", buffering=0) as file:
        for _ in range(64): file.write(block)
        os.fsync(file.fileno())"""


@contextlib.contextmanager
def noise():
    """Busy loops on each CPU, a hog of memory and one of the disk."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(dir=parts.RELEASE))
        for code in [*[BUSY] * parts.JOBS, MEMORY, DISK]:
            process = subprocess.Popen([sys.executable, "-c", code, f"{folder}/hog"])
            stack.callback(process.wait)
            stack.callback(process.kill)
        yield


def run_of(result):
    """What is counted of a result, and kept for --resume."""
    reason = None
    if result.status == "failed":
        found = [match[0].strip() for match in REASON.finditer(result.output)]
        reason = found[-1][:200] if found else "(says nothing)"
    return {"test": f"{result.name} ({result.build.name})", "seconds": result.seconds,
            "measures": result.measures(), "reason": reason}


class Tally:
    """How often each test ran, and failed."""

    def __init__(self):
        self.runs = {}
        self.failures = {}
        self.reasons = {}
        self.seconds = {}
        self.measured = set()

    def add(self, run):
        """Counts what run_of() says of a result."""
        name = run["test"]
        self.runs[name] = self.runs.get(name, 0) + 1
        self.seconds[name] = self.seconds.get(name, 0) + run["seconds"]
        if run["measures"]:
            self.measured.add(name)
        if run["reason"]:
            self.failures[name] = self.failures.get(name, 0) + 1
            self.reasons.setdefault(name, []).append(run["reason"])

    def keep(self, result):
        """Keeps the output of a result that was counted, if it failed."""
        if result.status == "failed":
            number = self.failures[run_of(result)["test"]]
            (KEPT / f"{result.name}.{number}.log").write_text(result.output)

    def too_often(self):
        """Those that fail more often than the goal."""
        return [name for name, failures in self.failures.items()
                if failures > (MEASURED_RATE * max(self.runs[name], 40) if name in self.measured else 0)]

    def rows(self, all_of_them):
        """The table's lines: those that failed, most often first; or all."""
        names = sorted(self.runs, key=lambda name: (-self.failures.get(name, 0) / self.runs[name], name))
        for name in names:
            failures = self.failures.get(name, 0)
            if failures or all_of_them:
                yield (f"{failures:4} of {self.runs[name]:3}  {self.seconds[name] / self.runs[name]:6.1f} s  "
                       f"{'measures' if name in self.measured else 'pure    '}  {name}")
                for reason in dict.fromkeys(self.reasons.get(name, ())):
                    yield f"{'':20}  {reason}"


def chosen_by(patterns):
    """Arguments of ctest."""
    return ("-R", "|".join(patterns)) if patterns else ()


def one_round(patterns):
    """Yields each test's result, in the company that the gate gives it."""
    choice = chosen_by(patterns)
    for tests in parts.gate_tests():
        if tests.build.exists():
            yield from trials.run_ctest(tests.build, *tests.arguments, *choice, jobs=tests.jobs, prefix=tests.prefix)


def run_rounds(count, patterns, tally, resumes):
    """Runs count rounds. If it resumes, the whole rounds of the last call count."""
    KEPT.mkdir(parents=True, exist_ok=True)
    earlier = [json.loads(line) for line in ROUNDS.read_text().splitlines()] if resumes and ROUNDS.exists() else []
    for run in (run for whole in earlier for run in whole):
        tally.add(run)
    with ROUNDS.open("a" if resumes else "w") as file:
        for number in range(len(earlier), count):
            print(f"== round {number + 1} of {count}", flush=True)
            whole = []
            for result in one_round(patterns):
                whole.append(run_of(result))
                tally.add(whole[-1])
                tally.keep(result)
            print(json.dumps(whole), file=file, flush=True)


def main(words):
    parser = argparse.ArgumentParser(prog="tests/steady", description=__doc__, epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", metavar="N", type=int, default=10, help="run each test N times (default 10)")
    parser.add_argument("--noise", action="store_true",
                        help="run beside a busy loop for each CPU, a hog of memory and one of the disk")
    parser.add_argument("--resume", action="store_true",
                        help="count the whole rounds of the last call, which was interrupted, and go on with them")
    parser.add_argument("--every", action="store_true", help="print a line for each test, not only for failures")
    parser.add_argument("patterns", metavar="PATTERN", nargs="*",
                        help="a regular expression of tests' names, as ctest -R (default: all)")
    arguments = parser.parse_args(words)
    if not parts.RELEASE.exists():
        sys.exit("nothing is built: call tests/run first")
    tally = Tally()
    # As Ctrl-C: its noise would outlive it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with noise() if arguments.noise else contextlib.nullcontext():
        # Ctrl-C ends the rounds, not the table.
        with contextlib.suppress(KeyboardInterrupt):
            run_rounds(arguments.n, arguments.patterns, tally, arguments.resume)
    if not tally.runs:
        sys.exit(f"no test is named like {' '.join(arguments.patterns)}")
    print(f"== of {sum(tally.runs.values())} runs of {len(tally.runs)} tests, {sum(tally.failures.values())} "
          f"failed{' beside noise' if arguments.noise else ''} (output in {os.path.relpath(KEPT)})",
          *tally.rows(arguments.every), sep="\n")
    return 1 if tally.too_often() else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
