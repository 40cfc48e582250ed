# SPDX-License-Identifier: GPL-2.0-only
"""What `report` makes of a real recording, against the records as read independently."""
import collections
import json
import math
import shutil
import subprocess

import harness
import records
from harness import Recording, Workload, run_correlator

SPUN_MS = 20
COST_SECONDS = 3
# The samples are 5 % of the time, of a machine that does other things, too: 3.3 was seen.
COST_FACTOR = 6


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
        self.check_rows("request_id", self.report("--by", "request_id"))

    def test_rows_by_endpoint_are_the_sums_of_the_records(self):
        report = self.report("--by", "endpoint")
        self.check_rows("endpoint", report)
        self.assertEqual([5] * 8, [row["requests"] for row in report["rows"]])

    def test_figures_of_an_endpoint_are_those_of_its_requests(self):
        """Mean and maximum exactly, percentiles to 1 %, as the documents say."""
        requests = collections.defaultdict(list)
        for record in self.records:
            if record["kind"] == "cpu" and record.get("endpoint"):
                requests[record["endpoint"], record["request_id"]].append(record)
        figures = collections.defaultdict(lambda: ([], []))
        for (endpoint, _), parts in requests.items():
            cpu, wall = figures[endpoint]
            cpu.append(sum(part["cpu_ns"] for part in parts))
            wall.append(max(part["last_ns"] for part in parts) -
                        min(part["first_ns"] for part in parts))
        rows = self.report("--by", "endpoint")["rows"]
        self.assertEqual(set(figures), {row["key"] for row in rows})
        for row in rows:
            for name, values in zip(("cpu", "wall"), figures[row["key"]]):
                values.sort()
                self.assertEqual(sum(values) // len(values), row[f"{name}_mean_ns"])
                self.assertEqual(values[-1], row[f"{name}_max_ns"])
                for percent in 50, 90, 99:
                    exact = values[math.ceil(percent * len(values) / 100) - 1]
                    self.assertAlmostEqual(exact, row[f"{name}_p{percent}_ns"], delta=exact / 100)

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


class KeysTest(harness.LiveTest):
    """One key, which is not request_id: contexts that have it, have another one, and an empty one."""

    def test_the_table_divides_time_as_the_books_do(self):
        workload = self.enter(Workload("driven.rb", environment={"GROUND_TRUTH": "off"}))
        recording = self.enter(Recording(self.output, "-p", workload.pid, "-k", "endpoint"))
        for pairs in 'endpoint: "orders"', 'request_id: "r"', "endpoint: nil", 'endpoint: ""':
            workload.evaluate(f"Correlator.with({pairs}) {{ Workload.spin_ms({SPUN_MS}) }}")
        self.assert_ended_well(recording, recording.stop())
        table = run_correlator("report", self.output)
        self.assertEqual(harness.EXIT_OK, table.returncode, table.stderr)
        self.assertNotIn("DOES NOT MATCH", table.stdout)
        report = json.loads(run_correlator("report", "-f", "json", self.output).stdout)
        self.assertEqual("endpoint", report["by"])
        self.assertTrue(report["books"]["matches_records"])
        self.assertEqual(["orders"], [row["key"] for row in report["rows"]])
        for row, least_ms in ((report["rows"][0], SPUN_MS), (report["without_key"], SPUN_MS),
                              (report["unattributed"], 2 * SPUN_MS)):
            self.assertGreaterEqual(row["cpu_ns"], least_ms * 1_000_000)
        self.assertEqual(report["books"]["unattributed_ns"], report["unattributed"]["cpu_ns"])


class CostTest(harness.LiveTest):
    """What watching cost, with the kernel programs."""

    def cost(self, path):
        result = run_correlator("report", "--cost", path)
        self.assertEqual(harness.EXIT_OK, result.returncode, result.stderr)
        text = result.stdout.partition("what watching cost")[2]
        report = json.loads(run_correlator("report", "-f", "json", path).stdout)
        return text, report["own_cost"]

    def test_it_is_estimated_from_samples(self):
        """A sampled recording beside one that has all runs timed: both watch the same load."""
        workload = self.enter(Workload("driven.rb", environment={"GROUND_TRUTH": "off"}))
        sampled, measured = (
            self.enter(Recording(self.folder / name, "-p", workload.pid, *options))
            for name, options in (("sampled", ()), ("measured", ("--measure",))))
        workload.evaluate(f"finish = Time.now + {COST_SECONDS}; "
                          "Workload.system_calls(1000) while Time.now < finish")
        for recording in sampled, measured:
            self.assert_ended_well(recording, recording.stop())
        text, estimate = self.cost(sampled.path)
        self.assertRegex(text, r"in its BPF programs .* %\n    estimated from [3-9] samples, ")
        text, truth = self.cost(measured.path)
        self.assertRegex(text, r"in its BPF programs .* %\n")
        self.assertNotIn("programs_samples", truth)
        ratio = estimate["programs_run_ns"] / truth["programs_run_ns"]
        self.assertLess(1 / COST_FACTOR, ratio)
        self.assertGreater(COST_FACTOR, ratio)

    def test_a_short_one_has_a_sample_too(self):
        workload = self.enter(Workload("driven.rb"))
        result = run_correlator("record", "-p", workload.pid, "-d", "100ms", "-o", self.output)
        self.assertEqual(harness.EXIT_OK, result.returncode, result.stderr)
        self.assertIn("estimated from 1 sample, ", self.cost(self.output)[0])

    def test_without_the_privilege_it_says_why_it_is_not_measured(self):
        self.folder.chmod(0o777)
        binary = shutil.copy(harness.CORRELATOR, self.folder)
        few = harness.as_user(self.folder, ("bpf", "perfmon", "sys_ptrace"))
        result = subprocess.run([*few, binary, "record", "--all-ruby", "-d", "100ms", "--lean",
                                 "--budget", "90", "-o", self.output], text=True,
                                capture_output=True, timeout=harness.DEADLINE_SECONDS)
        self.assertEqual(harness.EXIT_OK, result.returncode, result.stderr)
        self.assertIn("the kernel does not measure our programs (that needs CAP_SYS_ADMIN): what "
                      "they cost is not known, and in no budget", result.stderr)
        text, cost = self.cost(self.output)
        self.assertIn("- (not measured: that needs CAP_SYS_ADMIN)", text)
        self.assertNotIn("programs", cost)


if __name__ == "__main__":
    harness.main()
