#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""--alert: who burns the CPU is told, and no other; and --on-alert's program is told it as data."""
import json
import os
import re
import subprocess
import time

import harness
import records
from harness import EXIT_OK, Recording, Workload

EXIT_ALERT = 5
# A program, not a shell's line: it writes its environment, and what it was given besides, to a file.
PROGRAM = r"""#!/usr/bin/python3
import json, os, sys
with open(FOLDER + "/" + os.environ["CORRELATOR_ALERT_STATE"] + "-" + str(os.getpid()), "w") as file:
    json.dump({"environment": dict(os.environ), "arguments": sys.argv[1:],
               "descriptors": sorted(int(name) for name in os.listdir("/proc/self/fd")
                                     if os.path.exists("/proc/self/fd/" + name)),
               "input": os.readlink("/proc/self/fd/0")}, file)
os.rename(file.name, file.name + ".json")
"""
HOSTILE = 'GET "/x"\'$(touch pwned)`id`\n;{le="1"} %s\\'
# As records and the log have it.
SHOWN = HOSTILE.replace("\n", "\\x0a")
KEYS = ("-k", "request_id", "-k", "endpoint")


class AlertTest(harness.LiveTest):
    def setUp(self):
        super().setUp()
        self.runs = self.folder / "runs"
        self.runs.mkdir()
        self.program = self.folder / "on alert"
        self.program.write_text(PROGRAM.replace("FOLDER", repr(str(self.runs))))
        self.program.chmod(0o755)
        self.workload = self.enter(Workload("driven.rb"))
        self.number = 0

    def request(self, endpoint, milliseconds):
        self.number += 1
        self.workload.evaluate(f"Correlator.with(request_id: 'r-{self.number}', endpoint: "
                               f"{json.dumps(endpoint).replace('#', chr(92) + '#')}) "
                               f"{{ Workload.spin_ms({milliseconds}) }}; nil")

    def load(self, recording, message, milliseconds=25):
        """Requests of both endpoints until the recording has said it."""
        end = time.monotonic() + harness.DEADLINE_SECONDS
        while not re.search(message, recording.messages):
            self.assertLess(time.monotonic(), end, recording.messages)
            self.request(HOSTILE, milliseconds)
            self.request("GET /cheap", 1)

    def ran(self, state):
        return [json.loads(path.read_text()) for path in self.runs.glob(f"{state}-*.json")]

    def record(self, *options):
        return self.enter(Recording(self.output, "-p", self.workload.pid, "-i", "200ms", *KEYS, *options))

    def test_who_burns_the_cpu_is_told_until_the_load_ends(self):
        expression = "p90(cpu) > 10ms for 400ms by endpoint"
        os.environ["SECRET_OF_OURS"] = "x"
        self.addCleanup(os.environ.pop, "SECRET_OF_OURS")
        recording = self.record("--alert", expression, "--on-alert", self.program)
        self.load(recording, "alert firing")
        self.load(recording, "alert resolved", milliseconds=1)
        run = harness.await_true(lambda: self.ran("resolved") and self.ran("firing"), "the program to have run")
        self.assert_ended_well(recording, recording.stop())
        found = records.of_kind(recording.records(), "alert")
        self.assertEqual(["firing", "resolved"], [record["state"] for record in found])
        for record in found:
            self.assertEqual((expression, "endpoint", SHOWN, "ns", 10_000_000),
                             tuple(record[name] for name in ("expression", "by_key", "by_value", "unit", "threshold")))
        self.assertGreater(found[0]["value"], 10_000_000)
        self.assertLess(found[0]["since_ns"], found[1]["since_ns"])
        self.assertEqual([], [line for line in recording.lines if "cheap" in line])
        self.check_run(run[0], found[0], expression)
        self.assertEqual(EXIT_ALERT, self.report(expression).returncode)

    def check_run(self, run, record, expression):
        environment = run["environment"]
        ours = {name.removeprefix("CORRELATOR_ALERT_"): value for name, value in environment.items()
                if name.startswith("CORRELATOR_ALERT_")}
        self.assertEqual({"EXPRESSION": expression, "STATE": "firing", "KEY": "endpoint", "GROUP": SHOWN,
                          "VALUE": str(record["value"]), "THRESHOLD": "10000000", "UNIT": "ns",
                          "SINCE_NS": str(record["since_ns"])},
                         {name: value for name, value in ours.items() if name != "TIME_NS"})
        self.assertGreater(int(ours["TIME_NS"]), record["since_ns"])
        self.assertNotIn("SECRET_OF_OURS", environment)
        self.assertEqual([], run["arguments"])
        self.assertEqual("/dev/null", run["input"])
        self.assertLessEqual(set(run["descriptors"]), {0, 1, 2, 3})
        self.assertFalse((self.folder / "pwned").exists() or os.path.exists("pwned"))

    def report(self, *expressions):
        return harness.run_correlator("report", *[f"--alert={text}" for text in expressions], self.output)

    def test_a_report_of_the_recording_finds_the_same(self):
        recording = self.record("--alert", "max(cpu) > 10ms by endpoint")
        self.load(recording, "alert firing")
        self.assert_ended_well(recording, recording.stop())
        told = [record for record in records.of_kind(recording.records(), "alert")]
        report = self.report("max(cpu) > 10ms by endpoint", "max(cpu) > 100s by endpoint",
                             "max(cpu) > 100us by endpoint")
        self.assertEqual(EXIT_ALERT, report.returncode, report.stderr)
        lines = report.stdout.splitlines()
        self.assertEqual(len(told), len([line for line in lines if "> 10ms" in line]), lines)
        self.assertEqual([], [line for line in lines if "> 100s" in line])
        self.assertIn("GET /cheap", report.stdout)
        self.assertIn(SHOWN, report.stdout)
        quiet = self.report("max(cpu) > 100s by endpoint")
        self.assertEqual((EXIT_OK, "", ""), (quiet.returncode, quiet.stdout, quiet.stderr))

    def test_totals_and_losses_are_looked_at(self):
        recording = self.record("--alert", "own_cpu > 0.0001%", "--alert", "lost < 1", "--alert",
                                "residual >= 1000s")
        recording.await_message("alert firing: own_cpu > 0.0001%: is at .* %")
        recording.await_message("alert firing: lost < 1: is at 0")
        self.assert_ended_well(recording, recording.stop())
        self.assertNotIn("residual", recording.messages)

    def test_a_program_that_hangs_holds_up_nothing(self):
        self.program.write_text(f"#!/bin/sh\necho $$ >>'{self.runs}/hanging'\nexec sleep 1000 >/dev/null 2>&1\n")
        recording = self.record("--alert", "own_cpu > 0.0001%", "--alert", "lost < 1", "--on-alert",
                                self.program)
        harness.await_true(lambda: (self.runs / "hanging").exists(), "the program to run")
        windows = 5
        harness.await_true(lambda: len([line for line in subprocess.run(
            [harness.CORRELATOR, "dump", "--kind", "self", self.output], capture_output=True,
            text=True).stdout.splitlines()]) > windows, "windows to be written")
        self.assert_ended_well(recording, recording.stop())
        self.assertIn("not run for the last 1 changes", recording.messages)
        pids = (self.runs / "hanging").read_text().split()
        self.assertEqual(1, len(pids))
        # One that was left behind goes on; it is ours to end.
        os.kill(int(pids[0]), 9)

    def test_a_program_that_fails_is_said_and_the_next_one_runs(self):
        self.program.write_text(f"#!/bin/sh\necho >>'{self.runs}/ran'\nexit 7\n")
        recording = self.record("--alert", "own_cpu > 0.0001%", "--alert", "lost < 1", "--on-alert",
                                self.program)
        recording.await_message("on alert: ended with status 7")
        harness.await_true(lambda: (self.runs / "ran").read_text().count("\n") == 2, "the second run")
        self.assert_ended_well(recording, recording.stop())


if __name__ == "__main__":
    harness.main()
