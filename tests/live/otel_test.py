# SPDX-License-Identifier: GPL-2.0-only
"""Keys of OpenTelemetry's context: of a process that is not Ruby, and of a Ruby that has both."""
import harness
import otel
import records
import stacks_test
from harness import EXIT_NO_TARGET, Recording, Workload, run_correlator
from otel import FIXTURES, ROUTE_AND_USER, OtelWorkload, contexts_of

IDS = ("-k", "otel.trace_id", "-k", "otel.span_id")
ATTRIBUTES = ("-k", "otel.http.route", "-k", "otel.user")
KEYS = (*IDS, *ATTRIBUTES)
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
# Of the 30 ms that most contexts here spin for: what lies before the first boundary is others'.
MOST_NS = 25_000_000


class OtherTest(otel.OtelTest):
    def test_values_stand_in_the_records(self):
        contexts = {
            f"swap {TRACE} {SPAN} 0=/cart 1=ada": (TRACE, SPAN, "/cart", "ada"),
            # All zero: there is none.
            "change - - 1=ada": (None, None, None, "ada"),
            f"change {TRACE} {SPAN} 0=/a 1=\xff\x01 0=/last": (TRACE, SPAN, "/last", "\xff\\x01"),
            # Longer than what is captured: known apart by their ends.
            f"swap {TRACE} - 1={'u' * 250}x": None,
            f"swap {TRACE} - 1={'u' * 250}y": None,
        }
        with OtelWorkload() as workload:
            workload.do(ROUTE_AND_USER)
            recording = self.record(workload, *KEYS)
            for context in contexts:
                workload.do(context, "spin 30")
            found = self.end(recording)
        got = {values: cpu_ns for values, cpu_ns in contexts_of(found, *KEYS[1::2]).items()
               if cpu_ns > MOST_NS}
        long = {values for values in got if (values[3] or "").startswith("uuu")}
        self.assertEqual({values for values in contexts.values() if values}, set(got) - long)
        self.assertEqual(2, len(long), got)
        for trace, span, route, user in long:
            self.assertEqual((TRACE, None, None), (trace, span, route))
            self.assertRegex(user, r"^u{128}…#[0-9a-f]{8,}$")
        self.assertEqual({values[3] for values in long}, {
            record["otel.user"] for record in records.of_kind(found, "cpu")
            if "truncated" in record.get("flags", ())})
        process = records.of_kind(found, "process")[0]
        self.assertEqual(("tls_v1", "shop", "shop-1", "test"), tuple(
            process[name] for name in ("otel_schema", "service.name", "service.instance.id",
                                       "deployment.environment.name")))
        self.assertEqual(0, records.books(found)["otel_keys_unknown"])

    def test_samples_of_a_context_have_native_frames_from_the_first_on(self):
        with OtelWorkload() as workload:
            recording = self.record(workload, *IDS, "--stacks=997", "--native-stacks=full")
            workload.do(f"swap {TRACE} {SPAN}", "spin 300", "clear")
            found = self.end(recording)
        frames = stacks_test.frames_of(found)
        stacks = [[frame["name"] for frame in stacks_test.stack_of(frames, record["stack_id"])]
                  for record in records.of_kind(found, "sample") if record["otel.trace_id"] == TRACE]
        self.assertEqual({"[no Ruby]"}, {names[-1] for names in stacks})
        self.assertTrue(stacks)
        whole = [names for names in stacks if names[-2].startswith("_start") and "main" in names]
        self.assertGreater(len(whole), 0.9 * len(stacks), stacks)

    def test_no_context_is_none_and_ids_need_no_process_context(self):
        with OtelWorkload() as workload:
            recording = self.record(workload, *IDS)
            workload.do(f"swap {TRACE} {SPAN}", "spin 30")
            for end in ("invalidate", "clear", "change - -"):
                workload.do(f"change {TRACE} {SPAN}", end, "spin 30")
            found = self.end(recording)
        got = contexts_of(found, "otel.trace_id", "otel.span_id")
        self.assertGreater(got["", ""], 3 * MOST_NS)
        # And answering, and reading the next line, three times.
        self.assert_burned(30, got[TRACE, SPAN])

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
        self.assertGreater(got["/cart", None], MOST_NS)
        self.assertGreater(got["/cart", "ada"], MOST_NS)
        self.assertGreater(records.books(found)["otel_keys_unknown"], 0)

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
            recording = self.record(workload, *IDS[:2], *ATTRIBUTES, "-i", "100ms")
            workload.do("thread", f"swap {TRACE} {SPAN} 0=/thread", "spin 30")
            child = workload.fork()
            workload.do("spin 30", f"change {TRACE} {SPAN} 0=/child", "spin 30")
            # Whether there is one is looked at after half a second, and once a second from then on.
            workload.do("clear", "announce tls_v1 2 user,http.route", "spin 1400",
                        f"change {TRACE} {SPAN} 0=/user", "spin 30")
            found = self.end(recording)
        got = contexts_of(found, "pid", "otel.http.route")
        self.assertGreater(got[workload.leader, "/thread"], MOST_NS)
        # What the parent was in when it forked; the child has not published names of its own.
        self.assertGreater(got[child, "/thread"], MOST_NS)
        self.assertGreater(got[child, "/child"], MOST_NS)
        # And by its own names.
        self.assertGreater(contexts_of(found, "pid", "otel.user")[child, "/user"], MOST_NS)
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
        self.assertGreater(got[TRACE, "early"], MOST_NS)
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
        for request, trace, cpu_ms in (("one", 1, 40), ("one", 2, 40), ("two", 1, 80), ("two", 2, 80)):
            self.assert_burned(cpu_ms, got[request, f"{trace:032x}", "/route"], msg=f"{request} {trace}")
        self.assert_burned(50, got["three", None, None])
        meta = records.of_kind(found, "meta")[0]
        self.assertEqual("partly-lean", meta["mode"])
        self.assertRegex(meta["reason"], "OpenTelemetry")
        self.assertRegex(messages, r"recorded as with --lean, Ruby's exactly; ambiguous_ns is no bound")
        self.assertIn("ambiguous, no bound", harness.run_correlator("report", self.output).stdout)
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
            self.assert_burned(50, got["one", f"{trace:032x}"])
        self.assertEqual(["exact", "partly-lean"],
                         [meta["mode"] for meta in records.of_kind(found, "meta")])
        self.assertEqual([("exact", True), ("partly-lean", None)],
                         [(told["mode"], told.get("ambiguous_is_bound"))
                          for told in records.of_kind(found, "process") if told["event"] in ("found", "mode")])
        self.assertIn("ambiguous, no bound", harness.run_correlator("report", self.output).stdout)

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
            self.assert_burned(50, got[workload.pid, f"{trace:032x}"])

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
