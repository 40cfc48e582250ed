# SPDX-License-Identifier: GPL-2.0-only
"""No second of a thread has more than a second in any view, and no share is over 100 %, however values of keys come,
change and are shared.

The kernel tells of a wait for a CPU when it is over, and of CPU with the next tick: a window may have what the one
before it lacks. So a view may give no thread more than its records of that window have, which is exact, and these no
more than the time since the recording began. Tolerance of the latter: a window's end is read before the clocks of its
threads (law.SPAN_SLACK_NS).
"""
import collections
import json
import sys

import law
from law import harness

sys.path.append(str(harness.SOURCE / "tests" / "report" / "oracle"))
import rule

THREADS = 3
KEYS = ("-k", "request_id", "-k", "endpoint", "-k", "tenant")
# Requests of several threads, with endpoints that are late, change and come back, and a tenant that only some have.
WORK = ('Laws.run { |thread| 24.times { |round| Correlator.with(request_id: "r-#{round / 2}") { '
        'Workload.spin_ms(3); sleep(0.004); Correlator.update(endpoint: "GET /#{(thread + round) % 3}"); '
        'Workload.spin_ms(3); Workload.system_calls(50); Correlator.update(tenant: "t#{thread}") if round.odd?; '
        'Correlator.update(endpoint: "GET /#{round % 2}"); Workload.spin_ms(2) } } }')
BY = ("endpoint", "request_id", "tenant", "endpoint,tenant", "tid", "tid,endpoint", "pid", "thread_name,attribution")
WHERE = ((), ("--where", "endpoint=GET /1"), ("--where", "endpoint~GET *", "--where", "tenant=t1"))
WAYS = ("cpu_ns", *law.WAITS)
# Percent in JSON have nine digits.
ROUNDING_PERCENT = 1e-6


class ViewsTest(law.LawTest):
    def observe(self, *arguments):
        """The recording, and what its records have: {end of a window: {thread: ns}}."""
        workload = self.workload("laws.rb")
        workload.evaluate(f"Laws.threads({THREADS})")
        recording = self.record("-p", str(workload.pid), *KEYS, "-i", "100ms", *arguments)
        workload.evaluate(WORK)
        self.finish(recording)
        found = rule.Recording([list(rule.unpack(recording.path.read_bytes()))])
        windows = collections.defaultdict(collections.Counter)
        for record in found.of_kind("cpu"):
            thread = f"{record.fields['pid']}/{record.fields['tid']}"
            windows[record.wall_ns][thread] += sum(record.fields[way] for way in WAYS)
        self.check_time(windows, found.start_ns())
        return recording.path, windows

    def check_time(self, windows, begin_ns):
        since_ns = collections.Counter()
        for end_ns, threads in sorted(windows.items()):
            since_ns.update(threads)
            for thread, ns in since_ns.items():
                self.assertLessEqual(ns, end_ns - begin_ns + law.SPAN_SLACK_NS, thread)

    def report(self, path, *arguments):
        result = harness.run_correlator("report", "--format", "json", *arguments, path)
        self.assertEqual((0, ""), (result.returncode, result.stderr))
        return json.loads(result.stdout)

    def check_shares(self, report):
        others = [report[kind] for kind in ("without_key", "unattributed", "overflow") if kind in report]
        rows = report["rows"] + others
        shares = [row["share_percent"] for row in rows if "share_percent" in row]
        self.assertLessEqual(max(shares), 100 + ROUNDING_PERCENT, rows)
        self.assertAlmostEqual(100, sum(shares), delta=len(shares) * ROUNDING_PERCENT, msg=rows)

    def check_seconds(self, report, windows, thread_of):
        for step in report["steps"]:
            used_ns = collections.Counter()
            for row in step["groups"]:
                used_ns[thread_of(row)] += sum(row[way] for way in WAYS)
            for thread, ns in used_ns.items():
                self.assertLessEqual(ns, windows[step["end_ns"]][thread], (thread, step))

    def check(self, path, windows):
        for where in WHERE:
            for by in BY:
                with self.subTest(by=by, where=where):
                    self.check_shares(self.report(path, "--by", by, *where))
            over_time = ("--over-time", *where, "--by")
            with self.subTest(where=where):
                self.check_seconds(self.report(path, *over_time, "tid"), windows, lambda row: row["key"])
                self.check_seconds(self.report(path, *over_time, "tid,endpoint"), windows,
                                   lambda row: row["keys"]["tid"])

    def test_no_view_has_more_than_there_was(self):
        self.check(*self.observe())

    def test_nor_without_the_split(self):
        self.check(*self.observe("--no-kernel-split"))


if __name__ == "__main__":
    law.main()
