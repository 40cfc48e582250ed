# SPDX-License-Identifier: GPL-2.0-only
"""
Long waits one by one: each wait of fixtures/stalls.rb is a record, as long as it took, with what it was on and what
ended it.
"""
import collections
import json
import os
import sys
import tempfile
import unittest

import harness
import records
from files_test import Served
from harness import EXIT_USAGE, Recording, Workload, run_correlator
from reasons_test import Waiter
from stacks_test import frames_of, stack_of

# Where what decodes exports is. Whatever needs it imports it: the guests of tests/kernels, which run one of these tests,
# have neither that nor a parser of OpenMetrics.
sys.path.append(str(harness.SOURCE / "tests/unit/command"))

# Shorter waits have no record. Beside the one that is known, a request may have one of Ruby's own, for its lock.
LIMIT_NS = 5_000_000


def wait_of(stall):
    """What most of it was."""
    return "cpu" if stall["run_queue_ns"] > stall["blocked_ns"] else stall["blocked_on"]


def bars_of(test, path, category):
    """Those of an export to Perfetto, as perfetto_trace.bars() has them."""
    import perfetto_trace
    trace = run_correlator("export", "-f", "perfetto", path, text=False).stdout
    return perfetto_trace.bars(test, perfetto_trace.packets(test, trace), category)


def sums_of(test, path, *names):
    """{(family, labels, without the row): value} of an export to OpenMetrics."""
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
    text = run_correlator("export", "-f", "openmetrics", path).stdout
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if family.name.removeprefix("correlator_") in names:
                labels = dict(sample.labels)
                test.assertIn(labels.pop("row"), ("group", "unattributed"))
                found[family.name.removeprefix("correlator_"), *labels.values()] = sample.value
    return found


class StallsTest(harness.LiveTest):
    STARVES = True  # fixtures/stalls.rb has waits for a CPU

    def observe(self, *options):
        with Waiter("stalls.rb") as workload:
            with Recording(self.output, "-p", workload.pid, "--stall", *options) as recording:
                truth = workload.run_and_read()
                self.assert_ended_well(recording, recording.stop())
        found = recording.records()
        self.assertEqual(0, records.books(found)["stalls_lost"], records.books(found))
        return truth, found

    def assert_sums_are_right(self, found):
        """Each record is all of its time, and part of what the accounts have."""
        accounts, stalls = collections.Counter(), collections.Counter()
        for record in records.of_kind(found, "cpu"):
            for field in "blocked_ns", "run_queue_ns":
                accounts[record["tid"], record.get("request_id"), field] += record[field]
        for stall in records.of_kind(found, "stall"):
            self.assertNotEqual("", stall["request_id"])
            self.assertEqual(stall["end_ns"] - stall["start_ns"], stall["blocked_ns"] + stall["run_queue_ns"], stall)
            for field in "blocked_ns", "run_queue_ns":
                stalls[stall["tid"], stall["request_id"], field] += stall[field]
        self.assertEqual({}, {key: (ns, accounts[key]) for key, ns in stalls.items() if ns > accounts[key]})

    def assert_stalls_are_right(self, truth, found, lacks=(), has_probes=True):
        by_request = collections.defaultdict(list)
        for stall in records.of_kind(found, "stall"):
            by_request[stall["request_id"]].append(stall)
        # Whether each field that varies had its value: at least one must.
        are_once = []
        for known in truth:
            request = known.pop("request_id")
            inside_ns, around_ns = known.pop("inside_ns"), known.pop("around_ns")
            with self.subTest(request=request):
                if known.pop("is_short", False):
                    for stall in by_request[request]:
                        self.assertGreaterEqual(stall["end_ns"] - stall["start_ns"], LIMIT_NS)
                    continue
                self.assertLess(0, len(by_request[request]))
                # Beside others, the thread may wait for its CPU for longer than it sleeps.
                longest = "blocked_ns" if known["blocked_on"] else "run_queue_ns"
                stall = max(by_request[request], key=lambda stall, longest=longest: stall[longest])
                length_ns = stall["end_ns"] - stall["start_ns"]
                self.assertLessEqual(length_ns, around_ns, stall)
                are_once.extend(value == stall.get(field) for field, value in known.pop("may_be", {}).items())
                for field, value in known.items():
                    if field not in lacks:
                        self.assertEqual(value, stall.get(field), (field, stall))
                # Without probes, the CPU time at the request's ends is none of its own.
                if not has_probes:
                    continue
                # On a slow machine the thread may also wait for the GVL, before or after; each long wait has a record.
                sums = records.totals_by(found)[request]
                ran_ns = sums["cpu_ns"] + records.stolen_ns(found, request) + sums["run_queue_ns"]
                stalled_ns = sum(stall["blocked_ns"] for stall in by_request[request])
                self.assertGreaterEqual(stalled_ns, inside_ns - ran_ns - LIMIT_NS, stall)
        if self.STARVES:
            self.assertIn(True, are_once)
        else:
            self.assertEqual([], are_once)

    def test_each_is_as_long_as_it_took_with_what_it_was_on_and_who_ended_it(self):
        truth, found = self.observe()
        self.assert_sums_are_right(found)
        self.assert_stalls_are_right(truth, found)

    def test_one_over_many_windows_is_one(self):
        truth, found = self.observe("-i", "10ms")
        self.assert_sums_are_right(found)
        self.assert_stalls_are_right(truth, found)

    def test_so_it_is_without_probes(self):
        truth, found = self.observe("--lean")
        self.assert_sums_are_right(found)
        self.assert_stalls_are_right(truth, found, has_probes=False)

    def test_without_the_tracepoints_of_system_calls_the_file_may_be_missing(self):
        truth, found = self.observe("--no-kernel-split")
        self.assert_sums_are_right(found)
        self.assert_stalls_are_right(truth, found, lacks=("waited_on",))

    def test_with_everything_else(self):
        truth, found = self.observe("--timeline", "--syscalls", "--stacks=off-cpu")
        self.assert_sums_are_right(found)
        self.assert_stalls_are_right(truth, found)
        frames, longest = frames_of(found), {}
        # On a busy machine a thread may lose its CPU for as long as a stall before it comes to that method.
        for stall in sorted(records.of_kind(found, "stall"), key=lambda stall: stall["end_ns"] - stall["start_ns"]):
            longest[stall["request_id"]] = stall
        for stall in longest.values():
            if stall["endpoint"] == "waiter":
                names = [frame["name"] for frame in stack_of(frames, stack_id=stall["stack_id"])]
                self.assertIn("stalled", "".join(names), (names, stall))

    def test_the_report_has_all_of_them(self):
        _, found = self.observe()
        stalls = records.of_kind(found, "stall")
        report = json.loads(run_correlator("report", "--stalls", "-f", "json", self.output).stdout)
        sums = {field: sum(stall.get(field, 0) for stall in stalls) for field in ("blocked_ns", "run_queue_ns", "gvl_ns")}
        # The report leaves out 0, as a record does.
        if not sums["gvl_ns"]:
            del sums["gvl_ns"]
        self.assertEqual({"stalls": len(stalls), "stalls_lost": 0, **sums}, report["total"])
        self.assertEqual(len(stalls), len(report["stalls"]))
        ended = collections.Counter()
        for stall in stalls:
            if stall.get("woken_by_endpoint") == "ender" and stall["blocked_ns"] >= stall["run_queue_ns"]:
                ended[stall["endpoint"]] += stall["blocked_ns"] + stall["run_queue_ns"]
        self.assertLess(0, ended["waiter"])
        self.assertEqual(ended, {row["endpoint"]: row["blocked_ns"] + row["run_queue_ns"]
                                 for row in report["ended_by"] if row.get("ender") == "ender"})
        shown = run_correlator("report", "--stalls", self.output).stdout
        self.assertRegex(shown, r"\nwaiter +ender +\d+ ")

    def test_exports_have_all_of_them(self):
        _, found = self.observe("--syscalls", "--io")
        stalls = records.of_kind(found, "stall")
        names = {"cpu": "run_queue"}
        self.assertEqual(
            collections.Counter((stall["start_ns"], stall["end_ns"], names.get(wait_of(stall), f"blocked: {wait_of(stall)}"),
                                 stall["request_id"], stall.get("waited_on"), stall.get("woken_by_tid")) for stall in stalls),
            collections.Counter((*bar[1:4], *(bar[4].get(field) for field in ("request_id", "waited_on", "woken_by_tid")))
                                for bar in bars_of(self, self.output, "stall")))
        counts, seconds = collections.Counter(), collections.Counter()
        for stall in stalls:
            place = stall["endpoint"], wait_of(stall)
            counts["stalls", *place] += 1
            seconds["stall_seconds", *place] += stall["blocked_ns"] + stall["run_queue_ns"]
        for call in records.of_kind(found, "syscall"):
            place = (*filter(None, [call["endpoint"]]), call["syscall"])
            counts["syscall_calls", *place] += call["syscalls"]
            seconds["syscall_seconds", *place] += call["inside_ns"]
        for io in records.of_kind(found, "io"):
            place = (*filter(None, [io["endpoint"]]), io["io_on"])
            for family, field in ("io_calls", "io_calls"), ("io_in_bytes", "in_bytes"), ("io_out_bytes", "out_bytes"):
                counts[family, *place] += io[field]
        self.assertEqual(dict(counts), sums_of(self, self.output, "stalls", "syscall_calls", "io_calls", "io_in_bytes",
                                               "io_out_bytes"))
        told = sums_of(self, self.output, "stall_seconds", "syscall_seconds")
        self.assertEqual(dict(seconds), {place: round(value * 1e9) for place, value in told.items()})

    def test_very_many_are_limited_and_counted(self):
        workload = self.enter(Workload("driven.rb"))
        threads, waits = 8, 2_000
        recording = self.enter(Recording(self.output, "-p", workload.pid, "--stall=100us"))
        started_ns, ended_ns = workload.evaluate(
            "clock = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) }; from = clock.call; "
            f"Array.new({threads}) {{ |n| Thread.new {{ Correlator.with(request_id: \"r-#{{n}}\") {{ "
            f"{waits}.times {{ sleep 0.0002 }} }} }} }}.each(&:join); [from, clock.call]")
        self.assert_ended_well(recording, recording.stop())
        found = recording.records()
        told = len(records.of_kind(found, "stall"))
        self.assertGreaterEqual(told + records.books(found)["stalls_lost"], threads * waits)
        # A burst of a second's worth, then 1000 a second; 5 % for CPUs that update the budget at once.
        self.assertLessEqual(told, 1.05 * 1000 * (1 + (ended_ns - started_ns) / 1e9))
        self.assertLess(0, told)

    def test_a_percentile_tells_those_that_are_long_for_their_endpoint(self):
        """5 ms are not long where 20 are usual."""
        workload = self.enter(Workload("driven.rb"))
        # It publishes with its first context.
        workload.evaluate("def wait(request, endpoint, seconds) = Correlator.with(request_id: request, "
                          "endpoint: endpoint) { sleep seconds }; wait('first', 'first', 0); nil")
        recording = self.enter(Recording(self.output, "-p", workload.pid, "--stall=p99", "-i", "100ms"))
        workload.evaluate(
            "Array.new(150) { |n| Thread.new { wait(\"f-#{n}\", 'fast', 0.002); wait(\"s-#{n}\", 'slow', 0.02) } }"
            ".each(&:join)")
        for request, endpoint, seconds in ("long-f", "fast", 1), ("short-s", "slow", 0.005), ("long-s", "slow", 2):
            workload.evaluate(f"wait('{request}', '{endpoint}', {seconds})")
        self.assert_ended_well(recording, recording.stop())
        found = recording.records()
        meta = records.of_kind(found, "meta")[0]
        self.assertEqual((1_000_000, 99), (meta["stall_ns"], meta["stall_percentile"]))
        stalls = records.of_kind(found, "stall")
        longest = collections.Counter()
        for stall in stalls:
            longest[stall["request_id"]] = max(longest[stall["request_id"]], stall["end_ns"] - stall["start_ns"])
        self.assertGreaterEqual(longest["long-f"], 1_000_000_000)
        self.assertGreaterEqual(longest["long-s"], 2_000_000_000)
        # On a busy machine it may be long, but then it is longer than what is usual.
        if "short-s" in longest:
            self.assertGreaterEqual(longest["short-s"], 20_000_000)
        self.assertIn(", above p99 of their endpoint: ", run_correlator("report", "--stalls", self.output).stdout)

    def test_a_percentile_needs_endpoints(self):
        result = run_correlator("record", "-p", "1", "--stall=p99", "-k", "request_id")
        self.assertEqual(EXIT_USAGE, result.returncode)
        self.assertIn("the key endpoint is not recorded: -k request_id -k endpoint", result.stderr)

    def test_a_limit_that_is_none_is_refused(self):
        for limit in "p", "p49", "p100", "p99.9":
            result = run_correlator("record", "-p", "1", f"--stall={limit}")
            self.assertEqual(EXIT_USAGE, result.returncode)
            self.assertIn(f"--stall={limit}: not a percentile from p50 to p99", result.stderr)
        for limit in "1us", "nothing", "0":
            result = run_correlator("record", "-p", "1", f"--stall={limit}")
            self.assertEqual(EXIT_USAGE, result.returncode)
            self.assertIn(f"--stall {limit}", result.stderr)


@unittest.skipUnless(os.access("/dev/fuse", os.R_OK | os.W_OK), "no /dev/fuse")
class SlowFilesTest(harness.LiveTest):
    """Files of a disk that is slow: their pages in page faults, reads, and what is to be written."""
    PAGE_BYTES = os.sysconf("SC_PAGESIZE")
    PAGES = 1024
    LATE_NS = 30_000_000
    MAPPER = ("require 'fiddle/import'; module C; extend Fiddle::Importer; dlload Fiddle.dlopen(nil); "
              "extern 'void *mmap(void *, size_t, int, int, int, long)'; "
              "extern 'int madvise(void *, size_t, int)'; "
              # Without the GVL.
              "extern 'size_t strnlen(void *, size_t)'; end; $mapped = {}; "
              "def map(path) = File.open(path) { |file| $mapped[path] = "
              "C.mmap(nil, file.size, 1, 2, file.fileno, 0).to_i }; "
              "def touch(request, path, page) = Correlator.with(request_id: request, endpoint: 'fault') "
              "{ C.strnlen($mapped[path] + page * %d, 1) }; nil")

    def setUp(self):
        super().setUp()
        self.content = self.folder / "content"
        self.content.write_bytes(b"x" * (self.PAGES * self.PAGE_BYTES))
        self.late = [self.folder / name / f"{name} file" for name in ("one", "other")]
        self.workload = self.enter(Workload("driven.rb"))
        self.workload.evaluate(self.MAPPER % self.PAGE_BYTES)
        for path in self.late:
            served = self.enter(Served(path.parent, path.name, self.content))
            self.workload.evaluate(f"map '{path}'")
            served.say(f"late {self.LATE_NS // 1_000_000}")

    def fault(self, request, path, page):
        self.workload.evaluate(f"touch '{request}', '{path}', {page}")

    def test_reads_and_syncs_wait_for_the_disk(self):
        one, _ = self.late
        recording = self.enter(Recording(self.output, "-p", self.workload.pid, "--stall"))
        self.workload.evaluate(
            f"File.open('{one}', 'r+') {{ |file| "
            "Correlator.with(request_id: 'read', endpoint: 'f') { file.sysread(4096) }; "
            "Correlator.with(request_id: 'fsync', endpoint: 'f') { file.fsync } }; nil")
        self.assert_ended_well(recording, recording.stop())
        stalls = {stall["request_id"]: stall for stall in records.of_kind(recording.records(), "stall")
                  if stall["blocked_ns"] >= self.LATE_NS}
        for request in "read", "fsync":
            stall = stalls[request]
            self.assertEqual(("disk", request, str(one)), (stall["blocked_on"], stall["syscall"], stall["waited_on"]))

    def test_faults_of_a_file_that_was_dropped_from_the_cache(self):
        """Of a disk, as fast as it is: all of the time asleep is of page faults. (/tmp may be memory.)"""
        with tempfile.NamedTemporaryFile(dir="/var/tmp") as file:
            file.write(os.urandom(self.PAGES * self.PAGE_BYTES))
            file.flush()
            os.fsync(file.fileno())
            # Not read ahead: each touch of a page may wait.
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            self.workload.evaluate(f"map '{file.name}'")
            recording = self.enter(Recording(self.output, "-p", self.workload.pid, "--stall=100us"))
            for _ in range(10):
                # The kernel keeps pages that a process has in its tables.
                self.workload.evaluate(f"C.madvise($mapped['{file.name}'], {self.PAGES * self.PAGE_BYTES}, 4)")
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                self.workload.evaluate(
                    "Correlator.with(request_id: 'dropped', endpoint: 'f') { 32.times { |page| "
                    f"C.strnlen($mapped['{file.name}'] + page * 32 * {self.PAGE_BYTES}, 1) }} }}")
            self.assert_ended_well(recording, recording.stop())
        found = recording.records()
        sums = collections.Counter()
        for record in records.of_kind(found, "cpu"):
            if record.get("request_id") == "dropped":
                sums.update({name: record.get(name, 0) for name in ("blocked_ns", "blocked_fault_ns")})
        self.assertGreater(sums["blocked_ns"], 0)
        # But for a wait for the GVL.
        self.assertAlmostEqual(sums["blocked_ns"], sums["blocked_fault_ns"], delta=0.01 * sums["blocked_ns"])
        self.assertLessEqual({stall.get("waited_on") for stall in records.of_kind(found, "stall")
                              if stall.get("blocked_on") == "fault"},
                             {file.name} | (set() if harness.kernel_traces("mm_filemap_fault") else {None}))

    def test_each_page_fault_is_of_its_file(self):
        recording = self.enter(Recording(self.output, "-p", self.workload.pid, "--stall"))
        # Far apart: the kernel reads ahead.
        for turn in range(3):
            for name, path in zip(("one", "other"), self.late):
                self.fault(f"{name}-{turn}", path, turn * 300)
        self.assert_ended_well(recording, recording.stop())
        stalls = collections.defaultdict(list)
        for stall in records.of_kind(recording.records(), "stall"):
            stalls[stall["request_id"]].append(stall)
        for request in (f"{name}-{turn}" for name in ("one", "other") for turn in range(3)):
            stall = max(stalls[request], key=lambda stall: stall["blocked_ns"])
            self.assertGreaterEqual(stall["blocked_ns"], self.LATE_NS, stall)
            self.assertEqual(("fault", str(self.late[request.startswith("other")])),
                             (stall["blocked_on"], stall.get("waited_on")), stall)
            self.assertNotIn("syscall", stall)

    def test_a_page_fault_for_a_page_that_another_thread_reads_is_of_no_other_file(self):
        """It waits for it, too, but does not read it: before Linux 6.12 it has no name."""
        one, other = self.late
        recording = self.enter(Recording(self.output, "-p", self.workload.pid, "--stall"))
        turns = 5
        for turn in range(turns):
            # The thread's last fault is one of the other file; then both of its threads touch the same page.
            self.workload.evaluate(
                f"Thread.new {{ touch('before', '{other}', {turn * 200}); "
                f"first = Thread.new {{ touch('first', '{one}', {turn * 200}) }}; "
                f"sleep 0.01; touch('second', '{one}', {turn * 200}); first.join }}.join")
        self.assert_ended_well(recording, recording.stop())
        seen = collections.defaultdict(collections.Counter)
        for stall in records.of_kind(recording.records(), "stall"):
            if stall.get("blocked_on") == "fault":
                seen[stall["request_id"]][stall.get("waited_on")] += 1
        self.assertEqual({str(other): turns}, seen["before"])
        both = seen["first"] + seen["second"]
        # One of the threads may be late, and find the page read.
        self.assertGreater(sum(both.values()), turns)
        self.assertLessEqual(set(both), {str(one)} | (set() if harness.kernel_traces("mm_filemap_fault") else {None}))


class HogsTest(harness.LiveTest):
    """Fibers that kept the thread of an event loop: fixtures/hogs.rb."""
    TASKS = 20
    # Between the script's clock and the switches of fibers beside it.
    CLOCKS_NS = 500_000

    def observe(self, *options):
        with Waiter("hogs.rb", self.TASKS) as workload:
            with Recording(self.output, "-p", workload.pid, "--stall", *options) as recording:
                truth = {said["request_id"]: said["inside_ns"] for said in workload.run_and_read()}
                self.assert_ended_well(recording, recording.stop())
        return truth, recording.records()

    @staticmethod
    def longest(hogs):
        """The first one of each request: where the machine is busy, a request may have several."""
        return {hog["request_id"]: hog for hog in reversed(hogs)}

    def test_each_is_as_long_as_it_kept_the_thread(self):
        truth, found = self.observe()
        self.assertEqual({"spin", "wait", "both", "thread-spin", "thread-wait", "thread-both"}, set(truth))
        hogs = self.longest(sorted((hog for hog in records.of_kind(found, "stall") if hog.get("hog")),
                                   key=lambda hog: hog["start_ns"] - hog["end_ns"]))
        for request in "spin", "wait", "both":
            hog = hogs[request]
            length_ns = hog["end_ns"] - hog["start_ns"]
            self.assertGreaterEqual(length_ns, truth[request], hog)
            self.assertLessEqual(length_ns, truth[request] + self.CLOCKS_NS + hog["run_queue_ns"], hog)
            # But for theft, and what the switches of the thread have of the run queue's clock.
            parts_ns = hog["cpu_ns"] + hog["blocked_ns"] + hog["run_queue_ns"]
            self.assertAlmostEqual(length_ns, parts_ns, delta=records.stolen_ns(found, request) + self.CLOCKS_NS,
                                   msg=hog)
        self.assertGreater(hogs["spin"]["cpu_ns"], 2 * hogs["spin"]["blocked_ns"])
        self.assertGreater(hogs["wait"]["blocked_ns"], 2 * hogs["wait"]["cpu_ns"])
        self.assert_exports_have(found)

    def assert_exports_have(self, found):
        hogs = [stall for stall in records.of_kind(found, "stall") if stall.get("hog")]
        self.assertEqual(
            sorted((hog["start_ns"], hog["end_ns"], "hog", hog["request_id"]) for hog in hogs),
            sorted((*bar[1:4], bar[4]["request_id"]) for bar in bars_of(self, self.output, "hog")))
        self.assertEqual(len(hogs), sum(sums_of(self, self.output, "hogs").values()))

    def test_each_is_in_the_method_that_kept_the_thread(self):
        _, found = self.observe("--stacks=999,off-cpu")
        self.assertEqual(["stall", "stacks", "off-cpu", "native"], records.of_kind(found, "meta")[0]["modules"])
        report = json.loads(run_correlator("report", "--stalls", "-f", "json", self.output).stdout)
        story = json.loads(run_correlator("report", "--request", "task-003", "-f", "json", self.output).stdout)
        for hogs in self.longest(report["hogs"]), self.longest(story["stalls"]["hogs"]):
            self.assertRegex(hogs["spin"]["method"], "spin|now_ns", hogs["spin"])
            self.assertIn("nanosleep", hogs["wait"]["method"], hogs["wait"])

    def test_threads_of_their_own_are_none(self):
        _, found = self.observe("-i", "50ms")
        self.assertEqual([], [stall for stall in records.of_kind(found, "stall")
                              if stall.get("hog") and stall["request_id"].startswith("thread")])

    def test_the_report_says_how_many_they_held_up(self):
        truth, _ = self.observe()
        report = json.loads(run_correlator("report", "--stalls", "-f", "json", self.output).stdout)
        hogs = self.longest(report["hogs"])
        for request in "spin", "wait", "both":
            self.assertEqual(self.TASKS, hogs[request]["held_requests"], hogs[request])
            self.assertGreaterEqual(hogs[request]["held_ns"], self.TASKS * truth[request])
        all_hogs = {hog["endpoint"]: hog for hog in report["hog_sums"]}["GET /hog"]
        self.assertEqual(sum(hog["held_ns"] for hog in report["hogs"] if hog["endpoint"] == "GET /hog"),
                         all_hogs["held_ns"])
        behind = json.loads(run_correlator("report", "--stalls", "--request", "task-003", "-f", "json",
                                           self.output).stdout)
        self.assertLessEqual({"spin", "wait", "both"}, {hog["request_id"] for hog in behind["hogs"]})
        self.assertEqual({1}, {hog["held_requests"] for hog in behind["hogs"] if hog["request_id"] in truth})
        story = json.loads(run_correlator("report", "--request", "task-003", "-f", "json", self.output).stdout)
        hogs = self.longest(story["stalls"]["hogs"])
        for request in "spin", "wait", "both":
            self.assertGreaterEqual(hogs[request]["held_ns"], truth[request])
        # It is on no thread while another fiber has its thread.
        self.assertLessEqual(sum(hog["held_ns"] for hog in story["stalls"]["hogs"]),
                             story["request"]["parked_ns"] + self.CLOCKS_NS)


if __name__ == "__main__":
    harness.main()
