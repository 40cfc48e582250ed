# SPDX-License-Identifier: GPL-2.0-only
"""`export --format perfetto` as Perfetto's own trace processor reads it: nothing is left out, and its sums,
threads, requests and wake-ups are those of the recording, to the nanosecond."""
import collections
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))

import harness  # noqa: E402
import records  # noqa: E402
from harness import Recording, Workload  # noqa: E402
from timeline_test import KEYS, by_slices  # noqa: E402

TRACE_PROCESSOR = harness.BUILD / "npm-perfetto"
GOLDEN = HERE.parents[1] / "fixtures" / "golden" / "shop.rec"
FIGURES = "cpu_ns", "run_queue_ns", "blocked_ns", "uninterruptible_ns"

# What it could not read, or left out.
COMPLAINTS = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
# Bars of a thread's own track: its slices.
SLICES = """select process.pid, thread.tid, extract_arg(slice.arg_set_id, 'debug.request_id'),
        extract_arg(slice.arg_set_id, 'debug.endpoint'), extract_arg(slice.arg_set_id, 'debug.state'),
        ts, dur, extract_arg(slice.arg_set_id, 'debug.cpu_ns'), extract_arg(slice.arg_set_id, 'debug.blocked_on'), slice.name
    from slice join thread_track on slice.track_id = thread_track.id join thread using (utid)
        join process using (upid) where category = 'thread'"""
# The tracks that those of requests are below of, and what their bars come to.
REQUESTS = """select request.name, sum(dur) from slice join track on slice.track_id = track.id
    join track request on track.parent_id = request.id where category = 'request' group by request.name"""
WINDOWS = """select sum(extract_arg(slice.arg_set_id, 'debug.cpu_ns')), sum(extract_arg(slice.arg_set_id, 'debug.run_queue_ns')),
    sum(extract_arg(slice.arg_set_id, 'debug.blocked_ns')) from slice where category = 'window'"""
# Of each arrow: whose bar it leaves, whose it comes to, and who that one's recording says woke it.
WAKES = """select thread_out.tid, thread_in.tid, extract_arg(bar_in.arg_set_id, 'debug.woken_by_tid')
    from flow join slice bar_out on flow.slice_out = bar_out.id join slice bar_in on flow.slice_in = bar_in.id
        join thread_track track_out on bar_out.track_id = track_out.id join thread thread_out on track_out.utid = thread_out.utid
        join thread_track track_in on bar_in.track_id = track_in.id join thread thread_in on track_in.utid = thread_in.utid"""
NAMES = "select distinct tid, thread.name, process.name from thread join process using (upid) where pid > 0"


class TraceProcessorTest(harness.LiveTest):
    def ask(self, recording, *queries):
        """The rows of each query; integers come as text."""
        trace = self.folder / "trace.pftrace"
        with trace.open("wb") as file:
            subprocess.run([harness.CORRELATOR, "export", "-f", "perfetto", recording], stdout=file,
                           stderr=subprocess.PIPE, timeout=harness.DEADLINE_SECONDS, check=True)
        said = subprocess.run(["node", HERE / "query.mjs", TRACE_PROCESSOR, trace, COMPLAINTS, *queries],
                              capture_output=True, timeout=harness.DEADLINE_SECONDS, check=False)
        self.assertEqual(0, said.returncode, said.stderr)
        complaints, *rows = map(json.loads, said.stdout.splitlines())
        self.assertEqual([], complaints)
        return rows

    def record(self, script, talk, **options):
        with Workload(script, **options) as workload:
            with Recording(self.output, "-p", workload.pid, *KEYS, "--timeline") as recording:
                talk(workload)
                self.assert_ended_well(recording, recording.stop())
            found = recording.records()
        self.assertEqual(0, records.books(found)["slices_lost"])
        return found

    def check_slices(self, found, rows):
        sums, bars = collections.defaultdict(collections.Counter), collections.Counter()
        for pid, tid, request, endpoint, state, _, length_ns, cpu_ns, reason, name in rows:
            sum = sums[int(pid), int(tid), request, endpoint]
            bars[state] += 1
            if state != "running":
                self.assertEqual(f"{state}: {reason}" if reason else state, name)
            if state == "running":
                sum["cpu_ns"] += int(cpu_ns)
            elif state == "run_queue":
                sum["run_queue_ns"] += int(length_ns)
            else:
                sum["blocked_ns"] += int(length_ns)
                if state == "uninterruptible":
                    sum["uninterruptible_ns"] += int(length_ns)
        slices = records.of_kind(found, "slice")
        self.assertEqual(collections.Counter(piece["state"] for piece in slices), bars)
        self.assertEqual(by_slices(found), {account: +sum for account, sum in sums.items() if +sum})

    def check_requests(self, found, rows):
        lengths = collections.Counter()
        for piece in records.of_kind(found, "slice"):
            if piece.get("request_id"):
                lengths[piece["request_id"]] += piece["end_ns"] - piece["start_ns"]
        self.assertEqual(lengths, {name: int(length_ns) for name, length_ns in rows if name != "no request"})

    def check_windows(self, found, rows):
        sums = collections.Counter()
        for record in records.of_kind(found, "cpu"):
            sums.update({name: record[name] for name in FIGURES[:3]})
        self.assertEqual([[str(sums[name]) for name in FIGURES[:3]]], rows)

    def check(self, found):
        slices, requests, windows, wakes, names = self.ask(self.output, SLICES, REQUESTS, WINDOWS, WAKES, NAMES)
        self.check_slices(found, slices)
        self.check_requests(found, requests)
        self.check_windows(found, windows)
        for waker, woken, said in wakes:
            self.assertEqual(waker, said, (waker, woken))
        return wakes, names

    def test_threads_that_wake_each_other(self):
        def talk(workload):
            workload.say("go")
            for _ in range(2):
                workload.process.stdout.readline()

        found = self.record("timeline.rb", talk, environment={"GROUND_TRUTH": "off"})
        wakes, names = self.check(found)
        slices = records.of_kind(found, "slice")
        observed = {piece["tid"] for piece in slices}
        self.assertGreater(len(observed), 1)
        # Each that was told of a thread that is observed, too.
        self.assertEqual(sum(piece.get("woken_by_tid") in observed for piece in slices), len(wakes))
        self.assertGreater(len(wakes), 10)
        host = records.of_kind(found, "meta")[0]["host_name"]
        self.assertEqual({(str(piece["tid"]), piece["thread_name"], f"ruby on {host}") for piece in slices},
                         {tuple(row) for row in names if int(row[0]) in observed})

    def test_fibers_that_change_in_the_middle_of_a_stint(self):
        self.check(self.record("fibers.rb", lambda workload: workload.run()))

    def test_without_slices_there_are_windows(self):
        windows, bars = self.ask(GOLDEN, WINDOWS, "select count() from slice where category <> 'window'")
        self.check_windows([record for _, record in records.read_records(GOLDEN)], windows)
        self.assertEqual([["0"]], bars)


if __name__ == "__main__":
    harness.main()
