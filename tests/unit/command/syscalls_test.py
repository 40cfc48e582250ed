# SPDX-License-Identifier: GPL-2.0-only
"""report --syscalls, as a program. CORRELATOR names the binary."""
import collections
import csv
import io
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import forged_records

CORRELATOR = os.environ["CORRELATOR"]
GOLDEN = pathlib.Path(__file__).resolve().parents[3] / "fixtures" / "golden"
OK, FAILURE = 0, 1
ALL = 640 + 160 + 3 + 1 + 2


class SyscallsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.recording = pathlib.Path(folder.name) / "calls.rec"
        self.recording.write_bytes(forged_records.syscalls())

    def run_correlator(self, *arguments):
        return subprocess.run([CORRELATOR, *map(str, arguments)], capture_output=True, text=True, timeout=60,
                              env={"PATH": os.environ["PATH"], "COLUMNS": "100", "LC_ALL": "C"})

    def say(self, *arguments):
        result = self.run_correlator("report", "--syscalls", *arguments, self.recording)
        self.assertEqual((OK, ""), (result.returncode, result.stderr))
        return result.stdout

    def test_an_endpoint_has_its_calls_a_request(self):
        lines = [line.split() for line in self.say().splitlines()]
        self.assertIn(["GET", "/audit", "2", "803"], [line[:4] for line in lines])
        self.assertIn(["stat", "643", "322"], [line[:3] for line in lines])
        self.assertIn("These are all 806 calls of the accounts.", self.say())

    def test_a_request_has_its_own(self):
        lines = [line.split() for line in self.say("--request", "r-1").splitlines()]
        self.assertIn(["GET", "/audit", "1", "800", "800"], [line[:5] for line in lines])
        self.assertIn(["stat", "640", "640"], [line[:3] for line in lines])

    def test_each_format_has_the_same_sums(self):
        wanted = collections.Counter({
            ("group", "GET /audit", "stat"): 643, ("group", "GET /audit", "read"): 160,
            ("group", "GET /b", "futex"): 1, ("unattributed", "", "read"): 2})
        rows = csv.DictReader(io.StringIO(self.say("-f", "csv")))
        self.assertEqual(wanted, {(row["row"], row["endpoint"], row["syscall"]): int(row["syscalls"])
                                  for row in rows})
        lines = map(json.loads, self.say("-f", "ndjson").splitlines())
        self.assertEqual(wanted, {(row["row"], row.get("endpoint", ""), row["syscall"]): row["syscalls"]
                                  for row in lines})
        root = json.loads(self.say("-f", "json"))
        self.assertEqual(wanted, {(group["row"], group.get("endpoint", ""), call["syscall"]): call["syscalls"]
                                  for group in root["groups"] for call in group["calls"]})
        self.assertEqual({"syscalls": ALL, "inside_ns": 6400 + 3200 + 30 + 10 ** 9 + 7,
                          "account_syscalls": ALL, "syscalls_lost": 0}, root["total"])
        self.assertEqual({"GET /audit": 2, "GET /b": 2},
                         {group["endpoint"]: group["requests"] for group in root["groups"] if "endpoint" in group})

    def test_a_record_that_is_there_twice_is_counted_once(self):
        once = self.say("-f", "csv")
        self.recording.write_bytes(2 * forged_records.syscalls())
        self.assertEqual(once, self.say("-f", "csv"))

    def test_conditions_choose_requests(self):
        rows = list(csv.DictReader(io.StringIO(self.say("-f", "csv", "--where", "endpoint=GET /b"))))
        self.assertEqual([("GET /b", "2", "futex")], [(row["endpoint"], row["requests"], row["syscall"]) for row in rows])

    def test_what_is_not_there_is_said(self):
        for words, said in ((["--request", "r-5"], "no request r-5 in the recording"),
                            (["--by", "tenant"], "tenant"), (["--where", "tenant=1"], "tenant")):
            result = self.run_correlator("report", "--syscalls", *words, self.recording)
            self.assertEqual(FAILURE, result.returncode, words)
            self.assertIn(said, result.stderr)
        result = self.run_correlator("report", "--syscalls", GOLDEN / "shop.rec")
        self.assertEqual(OK, result.returncode)
        self.assertIn("record with --syscalls", result.stderr)

    def test_dump_and_export_have_the_records(self):
        for words in (["dump", "--kind", "syscall"], ["export", "-f", "ndjson"]):
            result = self.run_correlator(*words, self.recording)
            self.assertEqual((OK, ""), (result.returncode, result.stderr), words)
            kinds = [json.loads(line) for line in result.stdout.splitlines()]
            self.assertEqual(ALL, sum(record["syscalls"] for record in kinds if record["kind"] == "syscall"))


if __name__ == "__main__":
    unittest.main()
