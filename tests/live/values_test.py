# SPDX-License-Identifier: GPL-2.0-only
"""Keys and values: of all the kinds there are, at all the times at which they can come."""
import harness
import records
from harness import Recording, Workload

LONG = 128  # bytes that are captured of a value
DIGESTED = 4096  # bytes of a longer one that are told apart
# Ruby -> what stands in the records.
VALUES = {
    # Strings: embedded, on the heap, up to the limit, shared, frozen, interned, of a subclass.
    '"embedded"': "embedded",
    '"h" * 100': "h" * 100,
    f'"m" * {LONG}': "m" * LONG,
    '("shared" * 30)[0, 100]': ("shared" * 30)[:100],
    '("shared" * 30)[80, 100]': ("shared" * 30)[80:180],
    '"frozen" .dup.freeze': "frozen",
    '-("inter" + "ned")': "interned",
    '"copy on write".dup.tap { |s| $copy = s.dup << "!" }': "copy on write",
    'Class.new(String).new("subclass")': "subclass",
    '""': "",
    # Encodings, and what is broken in them.
    '"na\\u00efve \\u65e5\\u672c \\u{1f600}"': "na\u00efve \u65e5\u672c \U0001f600",
    '"\\xff\\xfe"': "\\xff\\xfe",
    '"\\xf0\\x9f\\x98 cut"': "\\xf0\\x9f\\x98 cut",
    '"\\xc3\\xa9\\x80".b': "\u00e9\\x80",
    '"a\\nb\\0c"': "a\\x0ab\\x00c",
    '"us-ascii".encode("US-ASCII")': "us-ascii",
    '"\\u65e5\\u{1f600}".encode("UTF-16LE")': "\u65e5\U0001f600",
    '"\\u65e5\\u{1f600}".encode("UTF-16BE")': "\u65e5\U0001f600",
    '"\\u65e5\\u{1f600}".encode("UTF-16")': "\u65e5\U0001f600",
    '"\\u65e5\\u{1f600}".encode("UTF-32LE")': "\u65e5\U0001f600",
    '"a\\xd8".dup.force_encoding("UTF-16LE")': "\\x61\\xd8",
    '"x\\x00\\x3d\\xd8".dup.force_encoding("UTF-16LE")': "x\\x3d\\xd8",
    '"caf\\xe9".dup.force_encoding("ISO-8859-1")': "caf\\xe9",
    '"\\u65e5".encode("EUC-JP")': "\\xc6\\xfc",
    # Symbols.
    ":checkout": "checkout",
    ":+": "+",
    ':"\\u65e5\\u672c"': "\u65e5\u672c",
    '"dynamic-#{1}".to_sym': "dynamic-1",
    '"\\u00e9#{1}".encode("UTF-16LE").encode("UTF-8").to_sym': "\u00e91",
    # Numbers.
    "42": "42",
    "-7": "-7",
    "2**62 - 1": str(2**62 - 1),
    "-(2**62)": str(-2**62),
    "2**62": str(2**62),
    "-(2**70)": str(-2**70),
    f"2**{8 * LONG} - 1": str(2**(8 * LONG) - 1),
    "2.5": "2.5",
    "0.1": "0.1",
    "0.0": "0.0",
    "-0.0": "-0.0",
    "1e300": "1.0e+300",
    "-1e-300": "-1.0e-300",
    "Float::MAX": "1.7976931348623157e+308",
    "Float::INFINITY": "Infinity",
    "Float::NAN": "NaN",
    # What there is one of, and all else.
    "true": "true",
    "false": "false",
    "nil": "",
    "[1]": "#<T_ARRAY>",
    "{ a: 1 }": "#<T_HASH>",
    "1..2": "#<T_STRUCT>",
    "Object.new": "#<T_OBJECT>",
    "Class": "#<T_CLASS>",
    "Time.now": "#<T_DATA>",
    "3r": "#<T_RATIONAL>",
    "2i": "#<T_COMPLEX>",
    "/x/": "#<T_REGEXP>",
    '"x".match(/x/)': "#<T_MATCH>",
    "$stderr": "#<T_FILE>",
    "-> {}": "#<T_DATA>",
    "Kernel": "#<T_MODULE>",
    'Class.new { def to_s; "a lie"; end }.new': "#<T_OBJECT>",
}


class DrivenTest(harness.LiveTest):
    """A process that does what the test says, while it is recorded."""

    def record(self, *keys):
        self.workload = self.enter(Workload("driven.rb"))
        options = [word for key in keys for word in ("-k", key)]
        self.recording = self.enter(Recording(self.output, "-p", self.workload.pid, "-i", "200ms",
                                              *options))

    def evaluate(self, code):
        return self.workload.evaluate(code)

    def finish(self):
        self.assert_ended_well(self.recording, self.recording.stop())
        return self.recording.records()


class ValuesTest(DrivenTest):
    def test_values_of_every_kind(self):
        self.record("request_id", "value")
        for number, ruby in enumerate(VALUES):
            self.evaluate(f'Correlator.with(request_id: "v{number}", value: {ruby}) '
                          "{ Workload.spin(20_000) }")
        by_id = {record["request_id"]: record for record in records.of_kind(self.finish(), "cpu")}
        for number, (ruby, text) in enumerate(VALUES.items()):
            with self.subTest(ruby):
                self.assertNotIn("flags", by_id[f"v{number}"])
                self.assertEqual(text, by_id[f"v{number}"]["value"])

    def values_of(self, *lines):
        """What stands for each of these lines, which two requests each have as their value."""
        self.record("request_id", "value")
        for number, line in enumerate(lines):
            for time in "ab":
                self.evaluate(f'Correlator.with(request_id: "{number}{time}", value: {line}) '
                              "{ Workload.spin(20_000) }")
        texts = {record["request_id"]: record["value"]
                 for record in records.of_kind(self.finish(), "cpu") if record["request_id"]}
        for number, line in enumerate(lines):
            self.assertEqual(texts[f"{number}a"], texts[f"{number}b"], line)
        return [texts[f"{number}a"] for number in range(len(lines))]

    def test_values_that_are_too_long_are_cut_and_stay_distinct(self):
        """By one byte, wherever it is; and the same value is the same text in each context."""
        lengths = [LONG + 1, 2 * LONG, DIGESTED]
        texts = self.values_of(*(f'("l" * {length}).tap {{ |s| s[{at}] = "{last}" }}'
                                 for length in lengths for at in (LONG, length - 1)
                                 for last in "ab"),
                               f'"l" * {DIGESTED}', f'"l" * {3 * DIGESTED}',
                               f'"l" * {3 * DIGESTED - 1}', f'"l" * {3 * DIGESTED - 1} + "a"')
        # In the shortest the last byte is the first one that is cut.
        self.assertEqual(len(texts) - 2, len(set(texts)))
        for text in texts:
            self.assertRegex(text, r"^l{128}\u2026#[0-9a-f]{16}$")
        for record in records.of_kind(self.recording.records(), "cpu"):
            if record["request_id"]:
                self.assertEqual(["truncated"], record["flags"])

    def test_long_values_of_other_kinds_stay_distinct(self):
        texts = self.values_of(*(f'"#{{"d" * {2 * LONG}}}{last}".to_sym' for last in "ab"),
                               *(f':"{"s" * 2 * LONG}{last}"' for last in "ab"),
                               *(f':"{"s" * 10 * LONG}{last}"' for last in "ab"),
                               *(f"2**{8 * LONG} + {last}" for last in (0, 1)))
        self.assertEqual(len(texts), len(set(texts)), texts)
        for text, start in zip(texts, ["d" * LONG] * 2 + ["s" * LONG] * 4 + ["#<T_BIGNUM>"] * 2):
            self.assertRegex(text, f"^{start}\u2026#[0-9a-f]{{16}}$")

    def test_equal_text_is_one_context(self):
        """Whoever made the String: Sidekiq's is US-ASCII, ActiveJob's is UTF-8."""
        self.record("request_id")
        texts = ['"same"', '"same".encode("US-ASCII")', '"same".b', '"same".encode("UTF8-MAC")',
                 '"same".encode("ISO-8859-1")', '"same".encode("UTF-16LE")', ":same"]
        contexts = "; ".join(f"Correlator.with(request_id: {text}) {{ Workload.spin(20_000) }}"
                             for text in texts)
        self.evaluate(contexts)
        self.assert_ended_well(self.recording, self.recording.stop())
        found = [(records.wall_ns(event_time), record["tid"], record)
                 for event_time, record in records.read_records(self.recording.path)
                 if record["kind"] == "cpu" and record["request_id"] == "same"]
        self.assertEqual(len(found), len({(window, tid) for window, tid, _ in found}), found)
        # Each began and ended at a probe, the last of them but for the line's end.
        self.assertGreaterEqual(sum(record["slices"] for _, _, record in found), len(texts))

    def test_eight_keys_some_renamed_some_absent(self):
        keys = [f"key_{number}" for number in range(7)]
        self.record("request_id=id", *keys)
        self.evaluate(f"{[':' + key for key in keys]}.size".replace("'", ""))
        self.recording.await_message("all keys known")
        pairs = ", ".join(f'{key}: "{key.upper()}"' for key in keys[:5])
        self.evaluate(f'Correlator.with(request_id: "seven", {pairs}) {{ Workload.spin(20_000) }}')
        found = [record for record in records.of_kind(self.finish(), "cpu")
                 if record["id"] == "seven"]
        self.assertTrue(found)
        for record in found:
            self.assertNotIn("request_id", record)
            self.assertEqual([key.upper() for key in keys[:5]],
                             [record[key] for key in keys[:5]])
            self.assertFalse(set(keys[5:]) & set(record))

    def test_a_key_that_appears_later_is_found_then(self):
        self.record("request_id", "key_of_later")
        self.recording.await_message("waiting for a key")
        late = 'Correlator.with(request_id: "r", ("key_of_" + "later").to_sym => "%s") { ' \
               "Workload.spin(20_000) }"
        self.evaluate(late % "too early")
        self.recording.await_message("all keys known")
        self.evaluate(late % "seen")
        self.assertIn("seen", {record.get("key_of_later")
                               for record in records.of_kind(self.finish(), "cpu")})


class ContextTest(DrivenTest):
    def spin_and_measure(self, before, after="", milliseconds=20):
        """CPU ns that a line of Ruby used between two changes of context."""
        return self.evaluate(f"{before}; used = Workload.cpu_ns {{ Workload.spin_ms({milliseconds}) }}; "
                             f"{after}; used")

    def test_set_lasts_until_clear(self):
        self.record("request_id")
        inside_ns = self.spin_and_measure('Correlator.set(request_id: "set")', "Correlator.clear")
        outside_ns = self.spin_and_measure("nil")
        totals = records.totals_by(self.finish())
        # The lines' own parsing and the clock's are in a context, too: well below a millisecond.
        self.assertAlmostEqual(inside_ns, totals["set"]["cpu_ns"], delta=1_000_000)
        self.assertGreaterEqual(totals[""]["cpu_ns"], outside_ns)

    def test_an_inner_context_takes_its_time_from_the_outer_one(self):
        self.record("request_id", "step")
        self.evaluate('Correlator.with(request_id: "r", step: "outer") { Workload.spin_ms(20); '
                      'Correlator.with(step: "inner") { Workload.spin_ms(40) } }')
        found = self.finish()
        self.assert_burned(60, records.totals_by(found)["r"]["cpu_ns"])
        steps = records.totals_by(found, "step")
        self.assert_burned(20, steps["outer"]["cpu_ns"])
        self.assert_burned(40, steps["inner"]["cpu_ns"])

    def test_an_enumerator_works_for_the_request_that_first_asks_it_and_no_longer(self):
        self.record("request_id")
        # A collection is the request's own, but takes as long as the tolerance is.
        self.evaluate("GC.start; GC.disable; numbers = Enumerator.new { |y| loop { Workload.spin_ms(20); y << 1 } }; "
                      'Correlator.with(request_id: "asks") { 2.times { numbers.next } }; '
                      'Correlator.with(request_id: "later") { 2.times { numbers.next } }')
        totals = records.totals_by(self.finish())
        self.assert_burned(40, totals["asks"]["cpu_ns"])
        self.assertLess(totals.get("later", {"cpu_ns": 0})["cpu_ns"], 1e6)
        self.assertGreater(totals[""]["cpu_ns"], 40e6)

    def test_a_fork_in_a_request_goes_on_in_its_context_under_its_own_pid(self):
        self.record("request_id")
        child, used_ns = self.evaluate(
            'r, w = IO.pipe; Correlator.with(request_id: "forking") { pid = fork { '
            "Workload.spin_ms(100); w.syswrite(Process.clock_gettime("
            "Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond).to_s); exit! }; w.close; "
            "Process.wait(pid); [pid, r.read.to_i] }")
        found = self.finish()
        # What fork returns is the pid in the process's own namespace.
        found = [record for record in found if record.get("ns_pid") == child]
        totals = records.totals_by(found)
        self.assertLessEqual(set(totals), {"forking", ""})
        # Its clock starts in the middle of fork and is read before the end of exit: a few ms, 14 on a busy machine
        # whose page faults are dear.
        self.assertAlmostEqual(used_ns, totals["forking"]["cpu_ns"], delta=30_000_000)
        # What it runs before its memory can be read for the first time: 0.2 to 1.2 ms were seen.
        self.assertLess(totals[""]["cpu_ns"], 5_000_000)
        self.assertEqual(["fork", "exit"], [record["event"] for record
                                            in records.of_kind(found, "process")])


if __name__ == "__main__":
    harness.main()
