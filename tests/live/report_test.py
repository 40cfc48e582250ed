# SPDX-License-Identifier: GPL-2.0-only
"""What `report` makes of a real recording, against the records as read independently."""
import json

import harness
import records
from harness import Recording, Workload, run_correlator


class ReportTest(harness.LiveTest):
    def setUp(self):
        super().setUp()
        with Workload("threads.rb", 5) as workload, \
                Recording(self.output, "-p", workload.pid, "-k", "request_id", "-k", "endpoint",
                          "-i", "200ms") as recording:
            workload.run()
            self.assert_ended_well(recording, recording.stop())
        self.records = recording.records()

    def report(self, *options):
        result = run_correlator("report", "--format", "json", *options, self.output)
        self.assertEqual(harness.EXIT_OK, result.returncode, result.stderr)
        return json.loads(result.stdout)

    def check_rows(self, key, report):
        totals = records.totals_by(self.records, key)
        nobody = totals.pop(records.NOBODY)
        self.assertEqual(set(totals), {row["key"] for row in report["rows"]})
        for row in report["rows"]:
            for name in "cpu_ns", "user_ns", "kernel_ns", "run_queue_ns", "blocked_ns":
                self.assertEqual(totals[row["key"]][name], row[name], row["key"])
        self.assertEqual(nobody["cpu_ns"], report["unattributed"]["cpu_ns"])
        self.assertEqual(nobody["cpu_ns"] + sum(total["cpu_ns"] for total in totals.values()),
                         report["total"]["cpu_ns"])

    def test_rows_by_request_are_the_sums_of_the_records(self):
        self.check_rows("request_id", self.report())

    def test_rows_by_endpoint_are_the_sums_of_the_records(self):
        report = self.report("--by", "endpoint")
        self.check_rows("endpoint", report)
        self.assertEqual([5] * 8, [row["requests"] for row in report["rows"]])

    def test_the_books_are_the_sums_of_the_balance_records(self):
        books = self.report()["books"]
        sums = records.books(self.records)
        for name in "exec_ns", "attributed_ns", "unattributed_ns", "overflow_ns", "residual_ns":
            self.assertEqual(sums[name], books[name], name)
        self.assertTrue(books["matches_records"])
        self.assertTrue(books["balanced"])

    def test_the_file_and_the_process_are_named(self):
        meta = self.report()["meta"]
        self.assertEqual(len(self.records), meta["files"][0]["records"])
        self.assertFalse(meta["files"][0]["truncated"])
        self.assertEqual({self.records[1]["pid"]}, {process["pid"]
                                                    for process in meta["processes"]})


if __name__ == "__main__":
    harness.main()
