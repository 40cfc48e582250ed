# SPDX-License-Identifier: GPL-2.0-only
"""The records of schema 1, field by field, as an independent msgpack library reads them."""
import re
import subprocess

import msgpack

import harness
import records
from harness import Recording, Workload

TYPES = {"integer": range(2**63), "signed": range(-2**63, 2**63), "bool": bool, "text": str,
         "texts": list}
PIDS = range(1, 2**22 + 1)
WALL_NS = range(1_600_000_000_000_000_000, 2**63)
LOSSES = re.findall(r'X\(\w+,\s*"(\w+)"',
                    (harness.SOURCE / "include/correlator/counters.h").read_text())
# More than the schema's type says: a range of int, or a set of values.
NARROWER = {
    "common": {"schema": range(1, 2), "pid": PIDS, "ns_pid": PIDS},
    "meta": {"mode": {"exact", "partly-lean", "lean", "switch-only"}, "cpu_count": range(1, 2**16)},
    "process": {"event": {"found", "fork", "exec", "load", "unload", "mode", "exit"},
                "mode": {"exact", "partly-lean", "lean"},
                "start_ns": WALL_NS, "end_ns": WALL_NS},
    "cpu": {"ns_tid": PIDS, "first_ns": WALL_NS, "last_ns": WALL_NS},
    "slice": {"state": {"running", "run_queue", "blocked", "uninterruptible"},
              "start_ns": WALL_NS, "end_ns": WALL_NS},
    "stack": {"frame_kind": {"ruby", "c", "gc", "kernel", "native", "unknown", "cut"}},
    "sample": {"ns_tid": PIDS, "samples": range(1, 2**32), "period_ns": range(1_003_009, 1_003_010)},
    "syscall": {"ns_tid": PIDS, "syscall_number": range(1024), "syscall_abi": {"i386", "x32", "arm"}},
    "io": {"ns_tid": PIDS, "io_on": {"file", "pipe", "tcp", "udp", "dns", "unix", "socket", "other"},
           "accepted": {True}},
    "stall": {"ns_tid": PIDS, "start_ns": WALL_NS, "end_ns": WALL_NS, "woken_by": {"thread", "timer", "network", "disk", "interrupt"},
              "blocked_on": {"disk", "network", "poll", "pipe", "futex", "sleep", "child", "fault", "other"}},
    "alert": {"state": {"firing", "resolved"}, "since_ns": WALL_NS},
}
# The keys that are recorded here: left out where a context has none.
KEYS = {"request_id?": str, "endpoint?": str}
WAKER_KEYS = {f"woken_by_{key}": kind for key, kind in KEYS.items()}


def read_schema():
    """What each field of a kind holds: a type, a range of int, or a set of values. `?`: it may be
    left out."""
    fields = {}
    lines = subprocess.run([harness.BUILD / "bin/record_reference", "--fields"], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    for kind, name, kind_of_value, mark, _ in (line.split("\t") for line in lines):
        allowed = NARROWER.get(kind, {}).get(name, TYPES[kind_of_value])
        fields.setdefault(kind, {})[name + mark] = allowed
    fields["cpu"].update(KEYS)
    fields["slice"].update(KEYS)
    fields["sample"].update(KEYS)
    fields["syscall"].update(KEYS)
    fields["io"].update(KEYS)
    fields["stall"].update(KEYS)
    fields["stall"].update(WAKER_KEYS)
    return fields


FIELDS = read_schema()
COMMON = FIELDS.pop("common")
# Of self records, where the kernel measures the programs (kernel.bpf_stats_enabled).
PROGRAM_FIELD = re.compile(r"bpf_\w+_(runs|ns)")
FLAGS = {"truncated", "inherited", "overflow", "unknown", "mixed_threads", "inherited_by_exec"}
# Receivers give them a meaning of their own.
FORBIDDEN = {"tag", "host", "timestamp", "source_type", "message", "log", "time", "date"}


def fits(value, allowed):
    if isinstance(allowed, range):
        return type(value) is int and value in allowed
    return value in allowed if isinstance(allowed, set) else type(value) is allowed


def faults(record):
    """What is wrong with the fields of a record."""
    wanted = {**COMMON, **FIELDS[record["kind"]]}
    names = {name.rstrip("?") for name in wanted}
    found = [f"{name} is unknown" for name in record if name not in names
             and not (record["kind"] == "self" and PROGRAM_FIELD.fullmatch(name))]
    for name, allowed in wanted.items():
        if name.rstrip("?") in record:
            value = record[name.rstrip("?")]
            if not fits(value, allowed):
                found.append(f"{name} is {value!r}")
        elif not name.endswith("?"):
            found.append(f"{name} is missing")
    return found


class SchemaTest(harness.LiveTest):
    @classmethod
    def setUpClass(cls):
        """One recording of all there is: threads, a fork, values of many kinds, many windows."""
        test = cls("setUp")
        test.setUp()
        cls.addClassCleanup(test.doCleanups)
        with Workload("driven.rb") as workload, \
                Recording(test.output, "-p", workload.pid, "-k", "request_id", "-k", "endpoint",
                          "-i", "100ms", "--timeline", "--stacks=997", "--syscalls", "--io",
                          "--stall", "--alert", "max(cpu) > 1ms by request_id") as recording:
            workload.evaluate('Correlator.with(request_id: "\\xff\\n", endpoint: 7) '
                              "{ Workload.spin_ms(150) }")
            workload.evaluate('Correlator.with(request_id: "x" * 1000) { Workload.spin_ms(150) }')
            workload.evaluate('Correlator.with(endpoint: "none") { Workload.read_zeros(100) }')
            workload.evaluate("4.times.map { |n| Thread.new { Correlator.with(request_id: n) "
                              "{ Workload.system_calls(1000); sleep 0.15 } } }.each(&:join).size")
            workload.evaluate("Process.wait(fork { Workload.spin_ms(50) })")
            workload.process.stdin.close()
            workload.wait()
            cls.ended = recording.wait()
        cls.pid = workload.pid
        cls.entries = records.read_records(test.output)
        cls.records = [record for _, record in cls.entries]

    def balances(self):
        return records.of_kind(self.records, "balance")

    def test_it_ended_with_the_target(self):
        self.assertEqual(harness.EXIT_OK, self.ended)

    def test_every_entry_is_a_time_and_a_map(self):
        for entry in self.entries:
            self.assertEqual(2, len(entry))
            when, record = entry
            self.assertIsInstance(when, msgpack.ExtType)
            self.assertEqual((0, 8), (when.code, len(when.data)))
            self.assertLess(int.from_bytes(when.data[4:], "big"), 1_000_000_000)
            self.assertIsInstance(record, dict)

    def test_entries_are_of_the_time_of_the_recording(self):
        meta_seconds = int.from_bytes(self.entries[0][0].data[:4], "big")
        for when, _ in self.entries:
            self.assertAlmostEqual(int.from_bytes(when.data[:4], "big"), meta_seconds,
                                   delta=harness.DEADLINE_SECONDS)

    def test_every_field_is_known_and_of_its_type(self):
        self.assertEqual([], [(record, wrong) for record in self.records
                              if (wrong := faults(record))])

    def test_every_kind_and_event_was_seen(self):
        self.assertEqual(set(FIELDS) - {"gap"}, {record["kind"] for record in self.records})
        self.assertEqual({"found", "fork", "exit"}, {
            record["event"] for record in records.of_kind(self.records, "process")})

    def test_no_field_has_a_name_that_receivers_take(self):
        self.assertEqual(set(), FORBIDDEN & {name for record in self.records for name in record})

    def test_record_ids_are_unique(self):
        self.assertEqual(len(self.records), len({record["record_id"] for record in self.records}))

    def test_strings_have_no_control_characters(self):
        for record in self.records:
            for value in record.values():
                if isinstance(value, str):
                    self.assertNotRegex(value, r"[\x00-\x1f\x7f]")

    def test_meta_comes_first_and_once_and_says_what_was_asked_for(self):
        self.assertEqual(["meta"], [record["kind"] for record in self.records[:1]])
        self.assertEqual(1, len(records.of_kind(self.records, "meta")))
        meta = self.records[0]
        self.assertEqual(["request_id", "endpoint"], meta["keys"])
        self.assertEqual(100_000_000, meta["interval_ns"])
        self.assertEqual(("exact", True), (meta["mode"], meta["kernel_split"]))
        self.assertEqual(harness.os.uname().release, meta["kernel_release"])

    def test_each_process_begins_and_ends_once(self):
        events = records.of_kind(self.records, "process")
        self.assertEqual(["found", "exit"], [record["event"] for record in events
                                             if record["pid"] == self.pid])
        child = [record for record in events if record["pid"] != self.pid]
        self.assertEqual(["fork", "exit"], [record["event"] for record in child])
        self.assertEqual([self.pid] * 2, [record["ppid"] for record in child])

    def test_user_and_kernel_time_add_up_to_cpu_time(self):
        for record in records.of_kind(self.records, "cpu"):
            self.assertEqual(record["cpu_ns"], record["user_ns"] + record["kernel_ns"])
            self.assertLessEqual(record["split_error_ns"], record["cpu_ns"])
            self.assertLessEqual(record["uninterruptible_ns"], record["blocked_ns"])
            self.assertLessEqual(record["ambiguous_ns"], record["cpu_ns"])
            self.assertLessEqual(record["first_ns"], record["last_ns"])

    def test_flags_are_known_ones(self):
        flags = {flag for record in records.of_kind(self.records, "cpu")
                 for flag in record.get("flags", ())}
        self.assertLessEqual(flags, FLAGS)
        self.assertIn("truncated", flags)

    def test_the_books_of_each_window_balance(self):
        for record in self.balances():
            self.assertEqual(record["exec_ns"], record["attributed_ns"] + record["unattributed_ns"]
                             + record["overflow_ns"] + record["residual_ns"])

    def test_the_residual_is_small_and_nothing_was_lost(self):
        sums = records.books(self.records)
        self.assertLessEqual(abs(sums["residual_ns"]), records.BALANCE_PART * sums["exec_ns"])
        # What lies with the machine and loses no time: a preemption between probe and store, a flush
        # in the middle of a boundary, a switch that the kernel does not report; of samples, that one
        # met a boundary, a collection came before its frames were named, or a library was unmapped
        # by then: frames_unreadable and its parts.
        harmless = {"changes_unseen", "boundaries_busy", "switches_unseen", "samples_lost",
                    "frames_unreadable", "frames_collected", "native_unnamed"}
        self.assertLess(sums["samples_lost"], 0.1 * sums["samples"])
        self.assertEqual({}, {name: sums[name] for name in LOSSES
                              if sums[name] and name not in harmless})

    def test_the_books_say_what_the_cpu_records_say(self):
        for pid in {record["pid"] for record in self.balances()}:
            sums = records.books(self.records, pid)
            totals = records.totals_by(self.records, pid=pid)
            self.assertEqual(sums["attributed_ns"] + sums["unattributed_ns"],
                             sum(total["cpu_ns"] for total in totals.values()))

    def test_time_under_no_context_has_empty_keys_and_a_missing_key_is_left_out(self):
        cpu = records.of_kind(self.records, "cpu")
        self.assertTrue(any(record.get("endpoint") == "none" and "request_id" not in record
                            for record in cpu))
        for record in cpu:
            if record.get("request_id") == "":
                self.assertEqual("", record["endpoint"])


class ModeTest(harness.LiveTest):
    def record(self, *options):
        with Workload("sequential.rb", 12) as workload, \
                Recording(self.output, "-p", workload.pid, *options) as recording:
            truth = workload.run()
            self.assert_ended_well(recording, recording.stop())
        found = recording.records()
        self.assertEqual([], [faults(record) for record in found if faults(record)])
        return truth, found

    def test_what_is_not_measured_is_left_out(self):
        truth, found = self.record("--no-kernel-split")
        self.assertEqual([], records.wrong_requests(truth, records.totals_by(found), found))
        self.assertIs(found[0]["kernel_split"], False)
        for record in records.of_kind(found, "cpu"):
            self.assertFalse({"user_ns", "kernel_ns", "split_error_ns", "syscalls"}
                             & set(record))

    def test_lean_measures_its_own_error(self):
        """Without uprobes: a request can be off by no more than what is marked as ambiguous."""
        truth, found = self.record("--lean")
        self.assertEqual("lean", found[0]["mode"])
        ambiguous_ns = sum(record["ambiguous_ns"] for record in records.of_kind(found, "cpu"))
        totals = records.totals_by(found)
        for request_id in set(truth) - {records.NOBODY}:
            got_ns, truth_ns = totals[request_id]["cpu_ns"], truth[request_id]
            self.assertLessEqual(abs(got_ns - truth_ns), ambiguous_ns + records.TOLERANCE_NS)


if __name__ == "__main__":
    harness.main()
