# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of OpenTelemetry's contexts share: fixtures/otel_workload.c, and sums by key."""
import collections
import json

import harness
import records
from harness import BUILD, Process, Recording

FIXTURES = BUILD / "fixtures"
ROUTE_AND_USER = "announce tls_v1 2 http.route,user"


class OtelWorkload(Process):
    """fixtures/otel_workload.c with the publisher of a TLS model; ready once constructed."""

    def __init__(self, model="general_dynamic"):
        program = "otel_local_exec" if model == "local_exec" else "otel_workload"
        library = "-" if model == "local_exec" else FIXTURES / f"otel_{model}.so"
        super().__init__([FIXTURES / program, library], text=True, stdin=harness.subprocess.PIPE,
                         stdout=harness.subprocess.PIPE)
        self.leader = self.pid
        self.expect(f"ready {self.pid}")

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def expect(self, answer):
        line = self.process.stdout.readline().rstrip("\n")
        if line != answer:
            raise RuntimeError(f"the workload said {line!r}, not {answer!r}")

    def do(self, *lines):
        for line in lines:
            self.say(line)
            self.expect("ok")

    def fork(self):
        """From here on the child is talked to; its pid."""
        self.say("fork")
        return int(self.process.stdout.readline())

    def run(self, way, calls, first, traces, segments, turns):
        """{trace ID: CPU ns} by its own measurement."""
        self.say(f"run {way} {calls} {first} {traces} {segments} {turns}")
        truth = {}
        for line in self.process.stdout:
            if line == "done\n":
                return truth
            trace = json.loads(line)
            truth[trace["request_id"]] = trace["cpu_ns"]
        raise RuntimeError("the workload ended in the middle")

    def turns_of(self, nanoseconds):
        """How many turns take that long here, at least: a busy machine has slow times."""
        turns = 20_000_000
        least_ns = min(sum(self.run("swap", "calls", 99, 1, 1, turns).values()) for _ in range(3))
        return turns * nanoseconds // least_ns


def contexts_of(found, *keys):
    """{values of the keys: CPU ns}"""
    sums = collections.Counter()
    for record in records.of_kind(found, "cpu"):
        sums[tuple(record.get(key) for key in keys)] += record["cpu_ns"]
    return sums


class OtelTest(harness.LiveTest):
    """Records a workload, and checks the sums."""

    def record(self, workload, *arguments):
        return self.enter(Recording(self.output, "-p", workload.leader, *arguments))

    def end(self, recording):
        self.assert_ended_well(recording, recording.stop())
        found = recording.records()
        books = records.books(found)
        self.assertLessEqual(abs(books["residual_ns"]), records.BALANCE_PART * books["exec_ns"])
        return found
