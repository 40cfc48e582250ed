# SPDX-License-Identifier: GPL-2.0-only
"""record --syscalls: each request's calls, by name, against what it says that it made."""
import collections
import json
import re
import signal
import subprocess

import harness
import records
from harness import Process, Recording, Workload

WAIT_NS = 500_000_000
# What it interrupts when it comes and goes, what it knows no name of, and the call that never returns, which
# it misses of threads that are gone before it looks.
DISTURBED_BY_STRACE = {"futex", "read", "poll", "ppoll", "restart_syscall", "invalid", "exit"}
STRACE_ROW = re.compile(r"(?:\s*[\d.]+){3}\s+(\d+)\s+(?:\d+\s+)?(\w+)$")
# A clock that it does not share with us began and ended it.
WAIT_ERROR_NS = 5_000_000


def strace_counts(said):
    """As calls_by() names them."""
    counts, table = {}, ""
    for line in said.splitlines():
        if other := re.match(r"System call usage summary for (\w+)", line):
            table = {"32": " i386"}.get(other[1], " " + other[1])
        elif (row := STRACE_ROW.match(line)) and row[2] != "total":
            counts[row[2] + table] = int(row[1])
    return counts


class SyscallsWorkload(Workload):
    """fixtures/syscalls.rb, which says {request_id: {name: calls}} before its CPU."""

    def run(self):
        self.say("go")
        calls = None
        for line in self.process.stdout:
            if line == "done\n":
                return calls
            said = json.loads(line)
            calls = calls if "request_id" in said else said
        raise RuntimeError("the workload ended in the middle")


def calls_by(found, *fields):
    """{values of the fields: {name, and of another table than the machine's own which: calls}}"""
    calls = collections.defaultdict(collections.Counter)
    for record in records.of_kind(found, "syscall"):
        key = tuple(record.get(field) for field in fields)
        name = " ".join(filter(None, (record["syscall"], record.get("syscall_abi"))))
        calls[key if len(fields) > 1 else key[0]][name] += record["syscalls"]
    return calls


class SyscallsTest(harness.LiveTest):
    def observe(self, *options):
        with SyscallsWorkload("syscalls.rb") as workload:
            with Recording(self.output, "-p", workload.pid, "-k", "request_id", "-k", "endpoint",
                           "--syscalls", "-i", "200ms", *options) as recording:
                made = workload.run()
                self.assert_ended_well(recording, recording.stop())
            return made, recording.records()

    def assert_sums_equal(self, found):
        """Each account's calls, over all names, are those of its cpu records."""
        fields = "pid", "tid", "request_id", "endpoint"
        sums = {key: calls.total() for key, calls in calls_by(found, *fields).items()}
        accounts = collections.Counter()
        for record in records.of_kind(found, "cpu"):
            accounts[tuple(record.get(field) for field in fields)] += record["syscalls"]
        self.assertEqual(0, records.books(found)["syscalls_lost"])
        self.assertEqual({key: calls for key, calls in accounts.items() if calls},
                         {key: calls for key, calls in sums.items() if calls})
        self.assertGreater(accounts.total(), 10_000)

    def assert_made(self, made, found):
        """Ruby's own calls are of other kinds; but for these, a request's are what it says."""
        calls = calls_by(found, "request_id")
        for request, kinds in made.items():
            got = {name: calls[request][name] for name in kinds}
            self.assertEqual(kinds, got, request)

    def test_requests_of_threads_and_fibers_have_the_calls_that_they_made(self):
        made, found = self.observe()
        self.assertEqual({"getpgid": 640, "getsid": 100, "getppid": 63}, made["audit-0"])
        self.assertEqual(20 + 10 + 20 + 3, len(made))
        self.assert_made(made, found)
        self.assert_sums_equal(found)
        self.assertEqual([], records.unbalanced(found))

    def test_strace_counts_the_same(self):
        """Of all of the process's calls, also those of Ruby and the C library."""
        with SyscallsWorkload("syscalls.rb") as workload:
            with Recording(self.output, "-p", workload.pid, "--syscalls") as recording, \
                    Process(["strace", "-f", "-c", "-p", workload.pid], stderr=subprocess.PIPE,
                            text=True) as strace:
                found = harness.threads(workload.pid)
                for _ in found:
                    self.assertIn("attached", strace.process.stderr.readline())
                workload.run()
                # Native threads outlive Ruby's, some by seconds, and make calls at their end.
                harness.await_true(lambda: (harness.threads(workload.pid) or {}).keys() == found.keys(),
                                   "its threads to end")
                # strace counts a call at its return, which for the last line's is after it is read here.
                workload.cpu_ns()
                strace.process.send_signal(signal.SIGINT)
                said = strace.process.stderr.read()
                self.assert_ended_well(recording, recording.stop())
        theirs = strace_counts(said)
        ours = calls_by(recording.records(), "pid")[workload.pid]
        for name in DISTURBED_BY_STRACE:
            theirs.pop(name, None)
            ours.pop(name, None)
        self.assertEqual({}, {name: (theirs.get(name), ours.get(name))
                              for name in theirs.keys() | ours.keys()
                              if theirs.get(name) != ours.get(name)}, said)
        self.assertGreater(len(ours), 25)

    def test_without_probes_sums_hold_and_uninterrupted_requests_are_right(self):
        made, found = self.observe("--lean")
        self.assert_sums_equal(found)
        # A call is of the context that is read at its entry: before that of the fiber is set
        # nothing is called.
        self.assert_made(made, found)

    def test_a_wait_is_one_call_with_time_in_each_window(self):
        self.observe()
        entries = [(records.wall_ns(when), record)
                   for when, record in records.read_records(self.output)]
        lengths = {end_ns: record["window_ns"] for end_ns, record in entries
                   if record["kind"] == "balance"}
        ends = sorted(lengths)
        before = {end_ns: lengths.get(previous_ns, 0)
                  for previous_ns, end_ns in zip([None, *ends], ends)}
        waits = [(end_ns, record) for end_ns, record in entries
                 if record["kind"] == "syscall" and record.get("request_id") == "wait"
                 and record["syscall"] in ("poll", "ppoll", "read")]
        self.assertGreaterEqual(len({record["record_id"] for _, record in waits}), 3)
        for end_ns, record in waits:
            # A window ends when all threads were written up, one after the other; whoever does that
            # may lose its CPU between them. What a thread has in a window began in the one before.
            self.assertLessEqual(record["inside_ns"],
                                 lengths[end_ns] + before[end_ns] + WAIT_ERROR_NS)
        waits = [record for _, record in waits]
        inside_ns = sum(record["inside_ns"] for record in waits)
        self.assertGreaterEqual(inside_ns, WAIT_NS - WAIT_ERROR_NS)
        # Who has waited may get a CPU late: no longer than its own account says that it took.
        spent_ns = sum(record["cpu_ns"] + record["run_queue_ns"] + record["blocked_ns"]
                       for _, record in entries
                       if record["kind"] == "cpu" and record.get("request_id") == "wait")
        self.assertLessEqual(inside_ns, spent_ns + WAIT_ERROR_NS)
        self.assertTrue(any(record["syscalls"] == 0 for record in waits))

    def test_the_time_in_calls_is_part_of_their_accounts_time(self):
        _, found = self.observe()
        inside, wall = collections.Counter(), collections.Counter()
        for record in records.of_kind(found, "syscall"):
            inside[record["tid"], record.get("request_id")] += record["inside_ns"]
        for record in records.of_kind(found, "cpu"):
            wall[record["tid"], record.get("request_id")] += sum(
                record[field] for field in ("cpu_ns", "run_queue_ns", "blocked_ns", "stolen_ns"))
        self.assertGreater(sum(inside.values()), WAIT_NS)
        for account, inside_ns in inside.items():
            # What was stolen in one window may be taken out in the next.
            self.assertLessEqual(inside_ns, wall[account] + records.TOLERANCE_NS, account)

    def test_numbers_are_told_with_their_names(self):
        made, found = self.observe()
        kinds = {record["syscall"]: record for record in records.of_kind(found, "syscall")}
        for name in made["kinds"]:
            self.assertEqual(name == "invalid", "syscall_number" not in kinds[name], name)
            self.assertNotIn("syscall_abi", kinds[name])

    def test_what_finds_no_room_is_counted(self):
        made, found = self.observe("--accounts", "16")
        sums = records.books(found)
        counted = sum(record["syscalls"] for record in records.of_kind(found, "syscall"))
        accounts = sum(record["syscalls"] for record in records.of_kind(found, "cpu"))
        self.assertGreater(sums["syscalls_lost"], 0)
        self.assertEqual(accounts, counted + sums["syscalls_lost"])

    def test_without_the_option_there_is_none(self):
        with SyscallsWorkload("syscalls.rb") as workload:
            with Recording(self.output, "-p", workload.pid) as recording:
                workload.run()
                self.assert_ended_well(recording, recording.stop())
        self.assertEqual([], records.of_kind(recording.records(), "syscall"))

    def test_it_is_refused_without_the_tracepoints(self):
        result = harness.run_correlator("record", "-p", "1", "--syscalls", "--no-kernel-split")
        self.assertEqual(harness.EXIT_USAGE, result.returncode)
        self.assertIn("--no-kernel-split", result.stderr)


if __name__ == "__main__":
    harness.main("strace")
