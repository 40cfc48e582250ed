# SPDX-License-Identifier: GPL-2.0-only
"""The time of a request on no thread, against what each request measures of its own sleeps."""
import json

import harness
import records
from harness import Recording, run_correlator
from reasons_test import Waiter

TASKS = 1000
THREADS = 4
# From a sleep's clocks to the boundaries beside them, and what our own programs use at each of these, thrice:
# 0.2 ms were seen where a trap takes 10 us. A time slice that was taken for a sleep is four and more.
CLOCKS_NS = 3 * 300_000
# On a thread of its own nothing is left out but the way to the first boundary, and from the last.
REST_PART = 0.01


class ParkedTest(harness.LiveTest):
    def setUp(self):
        super().setUp()
        with Waiter("parked.rb", TASKS, THREADS) as workload:
            with Recording(self.output, "-p", workload.pid, "-k", "request_id", "-k", "endpoint",
                           "-i", "100ms") as recording:
                self.truth = workload.run()
                self.assert_ended_well(recording, recording.stop())

    def rows(self, key):
        """{value of the key: row}"""
        said = run_correlator("report", "--format=json", "--by", key, "--top=0", self.output)
        self.assertEqual(harness.EXIT_OK, said.returncode, said.stderr)
        return {row["key"]: row for row in json.loads(said.stdout)["rows"] if "key" in row}

    def test_a_request_is_parked_while_its_fiber_sleeps_and_not_while_its_thread_does(self):
        rows = self.rows("request_id")
        for request_id, (inside_ns, around_ns) in self.truth.items():
            row = rows[request_id]
            own_ns = sum(row[name] for name in ("cpu_ns", "run_queue_ns", "blocked_ns", "stolen_ns"))
            self.assertLessEqual(row["parked_ns"], row["wall_ns"])
            if request_id.startswith("thread"):
                self.assertLess(row["parked_ns"], REST_PART * around_ns, row)
                continue
            # On its way into a sleep and out of it the fiber uses what the request does.
            self.assertGreaterEqual(row["parked_ns"], inside_ns - own_ns, row)
            self.assertLessEqual(row["parked_ns"], inside_ns + CLOCKS_NS, row)
            self.assertEqual(row["wall_ns"], row["parked_ns"] + own_ns)
        self.assertEqual(TASKS + THREADS, len(self.truth))

    def test_of_an_endpoint_it_is_what_its_requests_were(self):
        requests = self.rows("request_id")
        endpoints = self.rows("endpoint")
        for endpoint, prefix in (("GET /task", "task"), ("GET /thread", "thread")):
            parked = [row["parked_ns"] for request_id, row in requests.items()
                      if request_id.startswith(prefix)]
            self.assertEqual(sum(parked) // len(parked), endpoints[endpoint]["parked_mean_ns"])
            self.assertEqual(max(parked), endpoints[endpoint]["parked_max_ns"])
        table = run_correlator("report", "--by", "endpoint", self.output).stdout
        self.assertIn("parked mean", table)
        only = run_correlator("report", "--by", "endpoint", "--where", "endpoint=GET /thread", self.output).stdout
        self.assertNotIn("parked", only)

    def test_a_story_says_it(self):
        said = run_correlator("report", "--request", "task-000", self.output).stdout
        self.assertRegex(said, r"on no thread for \d+\.\d+ m?s\b")


if __name__ == "__main__":
    harness.main()
