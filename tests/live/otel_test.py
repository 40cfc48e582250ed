"""Keys of OpenTelemetry's context: of a process that is not Ruby, and of a Ruby that has both."""
import collections
import json
import os
import re
import unittest

import harness
import records
from harness import BUILD, EXIT_NO_TARGET, EXIT_OK, Process, Recording, Workload, run_correlator

FIXTURES = BUILD / "fixtures"
# How the variable is reached, and what doctor says of it.
MODELS = {
    "local_exec": r"static \(none\)",
    "initial_exec": r"static \(TPOFF64\)",
    "general_dynamic": r"dynamic \(DTPMOD64\+DTPOFF64\)",
    "descriptor_static": r"static \(TLSDESC\)",
    "descriptor_dynamic": r"dynamic \(TLSDESC\)",
}
ROUTE_AND_USER = "announce tls_v1 2 http.route,user"
IDS = ("-k", "otel.trace_id", "-k", "otel.span_id")
ATTRIBUTES = ("-k", "otel.http.route", "-k", "otel.user")
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
# Of the share of turns that is taken for a trace's share of the time: the speed of the CPU and of
# its cache changes within a run, as other work comes and goes.
SPEED_PART = 0.1


class OtelWorkload(Process):
    """fixtures/otel_workload.c with the publisher of a TLS model; ready once constructed."""

    def __init__(self, model="general_dynamic"):
        program = "otel_local_exec" if model == "local_exec" else "otel_workload"
        library = "-" if model == "local_exec" else FIXTURES / f"otel_{model}.so"
        super().__init__([FIXTURES / program, library], text=True, stdin=harness.subprocess.PIPE,
                         stdout=harness.subprocess.PIPE)
        self.leader = self.pid
        self.expect(f"ready {self.pid}")

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def expect(self, answer):
        line = self.process.stdout.readline().rstrip("\n")
        if line != answer:
            raise RuntimeError(f"the workload said {line!r}, not {answer!r}")

    def do(self, *lines):
        for line in lines:
            self.say(line)
            self.expect("ok")

    def fork(self):
        """From here on the child is talked to; its pid."""
        self.say("fork")
        return int(self.process.stdout.readline())

    def run(self, way, calls, first, traces, segments, turns):
        """{trace ID: CPU ns} by its own measurement."""
        self.say(f"run {way} {calls} {first} {traces} {segments} {turns}")
        truth = {}
        for line in self.process.stdout:
            if line == "done\n":
                return truth
            trace = json.loads(line)
            truth[trace["request_id"]] = trace["cpu_ns"]
        raise RuntimeError("the workload ended in the middle")

    def turns_of(self, nanoseconds):
        """How many turns take that long here."""
        turns = 20_000_000
        return turns * nanoseconds // sum(self.run("swap", "calls", 99, 1, 1, turns).values())


def contexts_of(found, *keys):
    """{values of the keys: CPU ns}"""
    sums = collections.Counter()
    for record in records.of_kind(found, "cpu"):
        sums[tuple(record.get(key) for key in keys)] += record["cpu_ns"]
    return sums


def ambiguous_by_trace(found):
    sums = collections.Counter()
    for record in records.of_kind(found, "cpu"):
        sums[record.get("otel.trace_id")] += record["ambiguous_ns"]
    return sums


class OtelTest(harness.LiveTest):
    def record(self, workload, *arguments):
        return self.enter(Recording(self.output, "-p", workload.leader, *arguments))

    def end(self, recording):
        self.assert_ended_well(recording, recording.stop())
        found = recording.records()
        books = records.books(found)
        self.assertLessEqual(abs(books["residual_ns"]), records.BALANCE_PART * books["exec_ns"])
        return found

    def check_model(self, model):
        if not (FIXTURES / f"otel_{model}{'' if model == 'local_exec' else '.so'}").exists():
            self.skipTest("this compiler has no such TLS model")
        with OtelWorkload(model) as workload:
            workload.do(ROUTE_AND_USER)
            result = run_correlator("doctor", "-p", workload.pid, "-k", "otel.http.route")
            self.assertEqual(EXIT_OK, result.returncode, result.stdout)
            for line in (r"OpenTelemetry +otel_thread_ctx_v1 in ", "TLS model +" + MODELS[model],
                         r"schema tls_v1, 2 names", r"otel\.http\.route = index 0"):
                self.assertRegex(result.stdout, line)
            turns = workload.turns_of(25_000_000)
            recording = self.record(workload, "-k", "otel.trace_id", "-i", "10ms")
            truth = {}
            for way, first in (("swap", 1), ("change", 11)):
                truth.update(workload.run(way, "quiet", first, 3, 12, turns))
            self.check_quiet(truth, self.end(recording))

    def check_quiet(self, truth, found):
        """
        A trace has too much only of its own ambiguous time, too little only of others'. A window is
        shorter than a segment, so no context comes and goes unseen between two boundaries.
        """
        got = contexts_of(found, "otel.trace_id")
        ambiguous = ambiguous_by_trace(found)
        self.assertEqual({*truth, ""}, {trace for trace, in got} | {""})
        for trace, truth_ns in truth.items():
            tolerance_ns = SPEED_PART * truth_ns + records.TOLERANCE_NS
            error_ns = got[trace,] - truth_ns
            others_ns = sum(ambiguous.values()) - ambiguous[trace]
            self.assertLessEqual(error_ns, ambiguous[trace] + tolerance_ns, trace)
            self.assertGreaterEqual(error_ns, -others_ns - tolerance_ns, trace)
            # The bound is one of use, too.
            self.assertLess(ambiguous[trace], 0.75 * truth_ns, trace)
            self.assertLess(abs(error_ns), 0.5 * truth_ns, trace)

    def test_local_exec(self):
        self.check_model("local_exec")

    def test_initial_exec(self):
        self.check_model("initial_exec")

    def test_general_dynamic(self):
        self.check_model("general_dynamic")

    def test_descriptor_in_the_static_block(self):
        self.check_model("descriptor_static")

    def test_descriptor_in_a_dynamic_block(self):
        self.check_model("descriptor_dynamic")

    def test_a_context_between_system_calls_is_exact(self):
        """What changes right after a system call is in force at the next one."""
        with OtelWorkload() as workload:
            recording = self.record(workload, "-k", "otel.trace_id")
            truth = {}
            for way, first in (("swap", 1), ("change", 11)):
                truth.update(workload.run(way, "calls", first, 4, 200, 500_000))
            found = self.end(recording)
        totals = {trace: {"cpu_ns": ns} for (trace,), ns in
                  contexts_of(found, "otel.trace_id").items()}
        for trace, truth_ns in truth.items():
            # The way to the first system call after the change, a microsecond each time.
            self.assertAlmostEqual(truth_ns, totals[trace]["cpu_ns"],
                                   delta=records.TOLERANCE_NS + 0.02 * truth_ns, msg=trace)
        self.assertEqual("lean", records.of_kind(found, "meta")[0]["mode"])

    def values_of(self, context, *keys, announce=ROUTE_AND_USER):
        """The values of the keys in a context as it is set by the lines `context`."""
        with OtelWorkload() as workload:
            workload.do(announce)
            recording = self.record(workload, *keys)
            workload.do(*context, "spin 30", "clear")
            found = self.end(recording)
        names = keys[1::2]
        best = max((cpu_ns, values) for values, cpu_ns in contexts_of(found, *names).items())
        self.assertGreater(best[0], 25_000_000)
        return dict(zip(names, best[1])), found

    def test_ids_and_attributes_stand_in_the_records(self):
        values, found = self.values_of([f"swap {TRACE} {SPAN} 0=/cart 1=ada"], *IDS, *ATTRIBUTES)
        self.assertEqual({"otel.trace_id": TRACE, "otel.span_id": SPAN, "otel.http.route": "/cart",
                          "otel.user": "ada"}, values)
        process = records.of_kind(found, "process")[0]
        self.assertEqual(("tls_v1", "shop", "shop-1", "test"), tuple(
            process[name] for name in ("otel_schema", "service.name", "service.instance.id",
                                       "deployment.environment.name")))
        self.assertEqual(0, records.books(found)["otel_keys_unknown"])

    def test_an_id_of_zeros_is_none(self):
        values, _ = self.values_of(["change - - 1=ada"], *IDS, *ATTRIBUTES)
        self.assertEqual({"otel.trace_id": None, "otel.span_id": None, "otel.http.route": None,
                          "otel.user": "ada"}, values)

    def test_the_last_of_several_attributes_wins_and_odd_ones_are_escaped(self):
        values, _ = self.values_of([f"change {TRACE} {SPAN} 0=/a 1=\xff\x01 0=/b"], *ATTRIBUTES)
        self.assertEqual({"otel.http.route": "/b", "otel.user": "\xff\\x01"}, values)

    def test_long_attributes_are_cut_and_stay_distinct(self):
        with OtelWorkload() as workload:
            workload.do(ROUTE_AND_USER)
            recording = self.record(workload, "-k", "otel.user")
            for end in "xy":
                workload.do(f"swap {TRACE} {SPAN} 1={'u' * 250}{end}", "spin 30")
            found = self.end(recording)
        long = [(user, cpu_ns) for (user,), cpu_ns in contexts_of(found, "otel.user").items()
                if user]
        self.assertEqual(2, len(long))
        for user, cpu_ns in long:
            self.assertRegex(user, r"^u{128}…#[0-9a-f]{8,}$")
            self.assertGreater(cpu_ns, 25_000_000)
        self.assertEqual({user for user, _ in long}, {
            record["otel.user"] for record in records.of_kind(found, "cpu")
            if "truncated" in record.get("flags", ())})

    def test_no_context_is_none(self):
        with OtelWorkload() as workload:
            recording = self.record(workload, "-k", "otel.trace_id")
            for end in ("invalidate", "clear", "change - -"):
                workload.do(f"change {TRACE} {SPAN}", end, "spin 30")
            found = self.end(recording)
        got = contexts_of(found, "otel.trace_id")
        self.assertGreater(got["",], 80_000_000)
        # Answering, and reading the next line, three times.
        self.assertLess(got[TRACE,], 2_000_000)

    def test_names_are_picked_up_when_they_appear(self):
        with OtelWorkload() as workload:
            workload.do("announce tls_v1 2 http.route")
            recording = self.record(workload, *ATTRIBUTES, "-i", "100ms")
            workload.do(f"swap {TRACE} {SPAN} 0=/cart 1=ada", "spin 30", ROUTE_AND_USER)
            # Spins until it is there: with the window's look, or with the kernel's question.
            harness.await_true(lambda: workload.do("spin 20") or "all keys known"
                               in recording.messages, "the new name")
            workload.do("spin 30")
            found = self.end(recording)
        got = contexts_of(found, "otel.http.route", "otel.user")
        self.assertGreater(got["/cart", None], 25_000_000)
        self.assertGreater(got["/cart", "ada"], 25_000_000)
        self.assertGreater(records.books(found)["otel_keys_unknown"], 0)

    def test_without_a_process_context_the_ids_are_there(self):
        with OtelWorkload() as workload:
            recording = self.record(workload, *IDS)
            workload.do(f"swap {TRACE} {SPAN}", "spin 30")
            found = self.end(recording)
        self.assertGreater(contexts_of(found, "otel.trace_id", "otel.span_id")[TRACE, SPAN],
                           25_000_000)

    def test_versions_that_are_not_known_are_refused(self):
        for announce, says in (("announce tls_v9 2 a", "schema `tls_v9`"),
                               ("announce tls_v1 3 a", "header of another version")):
            with OtelWorkload() as workload:
                workload.do(announce)
                result = run_correlator("record", "-p", workload.pid, *IDS, "-o", self.output)
            self.assertEqual(EXIT_NO_TARGET, result.returncode, result.stderr)
            self.assertIn(says, result.stderr)

    def test_threads_and_children(self):
        with OtelWorkload() as workload:
            workload.do(ROUTE_AND_USER)
            recording = self.record(workload, *IDS[:2], *ATTRIBUTES)
            workload.do("thread", f"swap {TRACE} {SPAN} 0=/thread", "spin 30")
            child = workload.fork()
            workload.do("spin 30", f"change {TRACE} {SPAN} 0=/child", "spin 30")
            # Half a second after the fork it is looked at.
            workload.do("clear", "announce tls_v1 2 user,http.route", "spin 700",
                        f"change {TRACE} {SPAN} 0=/user", "spin 30")
            found = self.end(recording)
        got = contexts_of(found, "pid", "otel.http.route")
        self.assertGreater(got[workload.leader, "/thread"], 25_000_000)
        # What the parent was in when it forked; the child has not published names of its own.
        self.assertGreater(got[child, "/thread"], 25_000_000)
        self.assertGreater(got[child, "/child"], 25_000_000)
        # And by its own names.
        self.assertGreater(contexts_of(found, "pid", "otel.user")[child, "/user"], 25_000_000)
        inherited = [record for record in records.of_kind(found, "cpu")
                     if "inherited" in record.get("flags", ())]
        self.assertEqual({(child, "/thread")}, {(record["pid"], record["otel.http.route"])
                                                for record in inherited})

    def test_a_hostile_record_costs_its_own_process_alone(self):
        with OtelWorkload() as workload:
            workload.do(ROUTE_AND_USER)
            recording = self.record(workload, *IDS, "-k", "otel.user", "-i", "100ms")
            for address in (1, 0x1001, 0x7FFFFFFFE000, 2**55, 2**64 - 2):
                workload.do(f"forge {address}", "spin 10")
            long = " ".join(f"1={'x' * 200}" for _ in range(6))
            workload.do(f"change {TRACE} {SPAN} {long} 1=beyond", "spin 30")
            many = " ".join(["0="] * 200)
            workload.do(f"change {TRACE} {SPAN} 1=early {many} 1=late", "spin 30", "clear")
            found = self.end(recording)
        got = contexts_of(found, "otel.trace_id", "otel.user")
        books = records.books(found)
        self.assertGreater(books["otel_unreadable"], 0)
        self.assertGreater(books["otel_malformed"], 0)
        self.assertGreater(got[TRACE, "early"], 25_000_000)
        self.assertFalse(any(user in ("beyond", "late") for _, user in got), got)
        self.assertGreater(sum(record["cpu_ns"] for record in records.of_kind(found, "cpu")
                               if "unknown" in record.get("flags", ())), 40_000_000)


class BothTest(harness.LiveTest):
    """A Ruby with the gem whose tracer publishes OpenTelemetry's context, too."""

    PUBLISHER = [
        'require "fiddle"',
        f'$library = Fiddle.dlopen("{FIXTURES}/otel_general_dynamic.so")',
        "$text = Fiddle::TYPE_VOIDP",
        "def publisher(name, *types) = Fiddle::Function.new("
        '$library["otel_publisher_#{name}"], types, Fiddle::TYPE_VOID)',
        '$change, $clear = publisher("change", $text, $text, $text), publisher("clear"); nil',
        'publisher("announce", $text, Fiddle::TYPE_INT, $text).call("tls_v1", 2, "http.route")',
        "def spans(ms) = [1, 2].each { |trace| "
        '$change.call("%032x" % trace, "", "0=/route"); Workload.spin_ms(ms) }',
    ]

    def test_keys_of_both(self):
        with Workload("driven.rb") as workload:
            for line in self.PUBLISHER:
                workload.evaluate(f"{line}; nil")
            with Recording(self.output, "-p", workload.pid, "-k", "request_id", "-k",
                           "otel.trace_id", "-k", "otel.http.route") as recording:
                workload.evaluate('Correlator.with(request_id: "one") { spans(40) }; '
                                  'Correlator.with(request_id: "two") { spans(80) }; '
                                  '$clear.call; Correlator.with(request_id: "three") '
                                  "{ Workload.spin_ms(50) }; nil")
                self.assert_ended_well(recording, recording.stop())
                found = recording.records()
                messages = recording.messages
        got = contexts_of(found, "request_id", "otel.trace_id", "otel.http.route")
        for request, trace, cpu_ns in (("one", 1, 40), ("one", 2, 40), ("two", 1, 80),
                                       ("two", 2, 80)):
            # spin_ms() reads the clock every 20 us, by a system call.
            self.assertAlmostEqual(cpu_ns * 1e6, got[request, f"{trace:032x}", "/route"],
                                   delta=4e6, msg=f"{request} {trace}")
        self.assertAlmostEqual(50e6, got["three", None, None], delta=4e6)
        meta = records.of_kind(found, "meta")[0]
        self.assertEqual("partly-lean", meta["mode"])
        self.assertRegex(meta["reason"], "OpenTelemetry")
        self.assertRegex(messages, r"recorded as with --lean, Ruby's exactly")
        self.assertEqual(0, records.books(found)["changes_unseen"])

    def test_a_library_that_is_loaded_meanwhile_is_read(self):
        with Workload("driven.rb") as workload:
            with Recording(self.output, "-p", workload.pid, "-k", "request_id", "-k",
                           "otel.trace_id", "-i", "100ms") as recording:
                for line in self.PUBLISHER:
                    workload.evaluate(f"{line}; nil")
                recording.await_message("recorded as with --lean")
                workload.evaluate('Correlator.with(request_id: "one") { spans(50) }; nil')
                self.assert_ended_well(recording, recording.stop())
                found = recording.records()
        got = contexts_of(found, "request_id", "otel.trace_id")
        for trace in (1, 2):
            self.assertAlmostEqual(50e6, got["one", f"{trace:032x}"], delta=4e6)
        self.assertEqual(["exact", "partly-lean"],
                         [meta["mode"] for meta in records.of_kind(found, "meta")])

    def test_a_ruby_that_publishes_it_later_is_found(self):
        with Workload("driven.rb") as workload:
            with Recording(self.output, "--all-ruby", "-k", "otel.trace_id", "-i",
                           "100ms") as recording:
                self.assertNotIn(f"found process {workload.pid}", recording.messages)
                for line in self.PUBLISHER:
                    workload.evaluate(f"{line}; nil")
                recording.await_message(f"found process {workload.pid} ")
                # Its threads are taken up right after it was said.
                workload.evaluate("Workload.spin_ms(100); spans(50); nil")
                workload.evaluate("$library.close; nil")
                recording.await_message(f"{workload.pid} .ruby. unloaded what publishes")
                workload.evaluate("Workload.spin_ms(50); nil")
                self.assert_ended_well(recording, recording.stop())
                found = recording.records()
        got = contexts_of(found, "pid", "otel.trace_id")
        for trace in (1, 2):
            self.assertAlmostEqual(50e6, got[workload.pid, f"{trace:032x}"], delta=4e6)

    def test_of_one_the_other_ones_keys_are_absent(self):
        with Workload("driven.rb") as workload:
            with Recording(self.output, "-p", workload.pid, "-k", "request_id", "-k",
                           "otel.trace_id") as recording:
                workload.evaluate('Correlator.with(request_id: "one") { Workload.spin_ms(50) }')
                self.assert_ended_well(recording, recording.stop())
                found = recording.records()
        self.assertGreater(contexts_of(found, "request_id", "otel.trace_id")["one", None],
                           45_000_000)
        self.assertEqual("exact", records.of_kind(found, "meta")[0]["mode"])


if __name__ == "__main__":
    harness.main()
