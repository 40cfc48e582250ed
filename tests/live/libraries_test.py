# SPDX-License-Identifier: GPL-2.0-only
"""The gem's library comes after us, twice, goes, or is replaced: picked up, or said so."""
import shutil
import subprocess

import harness
import records
from harness import Recording, Workload, run_correlator

GEM = harness.BUILD / "ruby" / "lib" / "correlator" / "correlator.so"
LOADED = r"publishes contexts by .*: read from"


def load_records(found):
    return [record for record in records.of_kind(found, "process") if record["event"] == "load"]


class LibrariesTest(harness.LiveTest):
    def bare(self):
        return self.enter(Workload("bare.rb"))

    def record(self, pid, *options):
        return self.enter(Recording(self.output, "--force", "-p", pid, *options))

    def end(self, recording):
        self.assert_ended_well(recording, recording.stop())
        found = recording.records()
        sums = records.books(found)
        self.assertLessEqual(abs(sums["residual_ns"]), records.BALANCE_PART * sums["exec_ns"])
        return found

    def test_a_gem_that_is_loaded_while_we_watch(self):
        bare = self.bare()
        recording = self.record(bare.pid)
        recording.await_message("publishes no context yet: waiting for it to load the gem")
        bare.evaluate('require "correlator"')
        recording.await_message(LOADED)
        bare.evaluate('requests("late", 20)')
        found = self.end(recording)
        self.assert_calls(found, "late", 20)
        self.assertEqual(1, len(load_records(found)))
        self.assertGreater(load_records(found)[0]["pickup_ns"], 0)

    def test_two_gems_that_set_one_variable(self):
        """Loaded later, ruby-profiler's stores land in ours: no second variable, no disagreement."""
        bare = self.bare()
        bare.evaluate(f'$LOAD_PATH << "{harness.BUILD}/ruby/test"; require "correlator"; '
                      'require "profiler_stand_in"')
        doctor = run_correlator("doctor", "-p", bare.pid)
        self.assertRegex(doctor.stdout, r"ok +thread-local +.*profiler_stand_in.so sets the same one")
        self.assertNotIn("disagree", doctor.stderr)
        recording = self.record(bare.pid, "-i", "200ms")
        bare.evaluate('requests("ours", 10)')
        bare.evaluate('10.times { |n| Ruby::Profiler::State.new(request_id: "theirs-#{n}").apply!; '
                      "CALLS.times { Process.ppid } }; Ruby::Profiler::State.new.apply!; nil")
        # Ours within theirs, which is in force again afterwards.
        bare.evaluate('Ruby::Profiler::State.new(request_id: "around").apply!; nil')
        bare.evaluate('fibers("fiber", 5)')
        bare.evaluate('requests("plain", 5)')
        bare.evaluate("CALLS.times { Process.ppid }")
        bare.evaluate("Ruby::Profiler::State.new.apply!; nil")
        # For a look or two.
        bare.evaluate("sleep 1.5")
        found = self.end(recording)
        self.assert_calls(found, "ours", 10)
        self.assert_calls(found, "theirs", 10)
        self.assert_calls(found, "fiber", 5)
        self.assert_calls(found, "plain", 5)
        self.assertGreaterEqual(records.calls_of(found, "around")["around"], 2000)
        self.assertNotRegex(recording.messages, "error|warning")
        self.assertEqual(0, records.books(found)["changes_unseen"])

    def test_a_key_that_nothing_was_named_when_we_came(self):
        bare = self.bare()
        bare.evaluate('require "correlator"')
        recording = self.record(bare.pid, "-k", "request_id", "-k", "late_key")
        # Long enough for the pauses between looks to have grown to half a second.
        bare.evaluate("sleep 1.2")
        # The probe that this hits asks for a look; it would else be due a good while later.
        bare.evaluate("Correlator.with(late_key: 0) { sleep 0.05 }")
        bare.evaluate("5.times { |n| Correlator.with(late_key: n) { request(\"key-#{n}\") } }")
        found = self.end(recording)
        self.assertEqual({f"key-{number}": {str(number)} for number in range(5)}, {
            name: {record.get("late_key") for record in records.of_kind(found, "cpu")
                   if record.get("request_id") == name} for name in records.calls_of(found, "key-")})

    def test_no_request_is_lost_that_starts_after_the_pick_up(self):
        command = [*harness.RUBY, harness.FIXTURES / "bare.rb", "start"]
        with Recording(self.output, "--", *command, stdout=subprocess.PIPE) as recording:
            starts = dict(line.split() for line in recording.process.stdout)
            self.assert_ended_well(recording, recording.wait())
        entries = records.read_records(self.output)
        found = [record for _, record in entries]
        (load_ns, load), = [(records.wall_ns(time), record) for time, record in entries
                            if record.get("event") == "load"]
        seen = records.calls_of(found, "r-")
        after = {name for name, start in starts.items() if int(start) > load_ns}
        self.assertTrue(after)
        for name in after:
            self.assertIn(seen.get(name), records.REQUEST_CALLS, name)
        # What came before is nobody's, not lost: the books hold each system call's time.
        sums = records.books(found)
        self.assertEqual(sums["exec_ns"], sums["attributed_ns"] + sums["unattributed_ns"] +
                         sums["overflow_ns"] + sums["residual_ns"])
        self.assertLessEqual(abs(sums["residual_ns"]), records.BALANCE_PART * sums["exec_ns"])
        # The loss is the time to the pick-up and the request that was then under way.
        self.assertLess(load["pickup_ns"], 500_000_000)

    def test_a_program_that_runs_another_one_in_its_place(self):
        bare = self.bare()
        bare.evaluate('require "correlator"')
        recording = self.record(bare.pid)
        bare.evaluate('requests("before", 5)')
        words = ", ".join(f'"{word}"' for word in [*harness.RUBY, harness.FIXTURES / "bare.rb"])
        bare.say(f"exec({words})")
        self.assertEqual(f"ready {bare.pid}\n", bare.process.stdout.readline())
        bare.evaluate('require "correlator"')
        recording.await_message(LOADED)
        bare.evaluate('requests("after", 5)')
        found = self.end(recording)
        self.assert_calls(found, "before", 5)
        self.assert_calls(found, "after", 5)
        self.assertIn("exec", [record["event"] for record in records.of_kind(found, "process")])

    def test_a_file_that_a_deploy_deleted_or_replaced(self):
        for is_replaced in False, True:
            with self.subTest(is_replaced=is_replaced):
                copy = self.folder / "correlator" / "correlator.so"
                copy.parent.mkdir(exist_ok=True)
                shutil.copy(GEM, copy)
                bare = self.bare()
                bare.evaluate(f'$LOAD_PATH.unshift("{self.folder}"); require "correlator"')
                copy.unlink()
                if is_replaced:
                    shutil.copy("/bin/true", copy)
                recording = self.record(bare.pid)
                bare.evaluate('requests("old", 5)')
                self.assert_calls(self.end(recording), "old", 5)
                output = run_correlator("doctor", "-p", bare.pid).stdout
                self.assertIn("correlator.so (deleted or replaced since)", output)

    def test_two_copies_of_the_library(self):
        copy = self.folder / "correlator.so"
        shutil.copy(GEM, copy)
        for first, second in (copy, "correlator"), ("correlator", copy):
            with self.subTest(first=first):
                bare = self.bare()
                bare.evaluate(f'require "{first}"; require "{second}"; require "correlator"')
                recording = self.record(bare.pid)
                bare.evaluate('requests("copy", 5)')
                self.assert_calls(self.end(recording), "copy", 5)
                # The dynamic linker makes their variables one.
                self.assertNotIn("loaded objects", recording.messages)

    def test_a_library_that_is_unloaded(self):
        copy = self.folder / "unloaded.so"
        shutil.copy(GEM, copy)
        bare = self.bare()
        recording = self.record(bare.pid, "-i", "200ms")
        bare.evaluate(f'require "fiddle"; $library = Fiddle.dlopen("{copy}"); nil')
        recording.await_message("publishes contexts by .*unloaded.so")
        bare.evaluate("$library.close; nil")
        recording.await_message("unloaded what publishes its contexts")
        bare.evaluate('require "correlator"')
        recording.await_message("publishes contexts by .*correlator.so")
        bare.evaluate('requests("again", 5)')
        found = self.end(recording)
        self.assert_calls(found, "again", 5)
        self.assertEqual(["found", "load", "unload", "load"],
                         [record["event"] for record in records.of_kind(found, "process")])


if __name__ == "__main__":
    harness.main()
