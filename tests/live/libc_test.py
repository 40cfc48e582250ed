# SPDX-License-Identifier: GPL-2.0-only
"""Other libcs, other ways to link: fixtures/fake_ruby.c, which runs where no Ruby here does."""
import records
import harness
from harness import FAKES, FakeRuby, Recording, run_correlator

REQUESTS = 5
LOADED = "publishes contexts by .*: read from"


class LibcTest(harness.LiveTest):
    def start(self, name):
        if not (FAKES / name).exists():
            self.skipTest(f"{name} was not built: is musl-tools installed?")
        return self.enter(FakeRuby(name))

    def check(self, fake, recording, model):
        fake.obey(f"main main {REQUESTS}")
        fake.obey(f"worker worker {REQUESTS}")
        self.assert_ended_well(recording, recording.stop())
        found = recording.records()
        self.assert_calls(found, "main", REQUESTS)
        self.assert_calls(found, "worker", REQUESTS)
        self.assertIn(model, run_correlator("doctor", "-p", fake.pid, "-k", "request_id").stdout)

    def check_library(self, libc):
        """The worker is older than the library: its DTV is too short for it, at first."""
        fake = self.start(f"{libc}_loads")
        recording = self.enter(Recording(self.output, "-p", fake.pid))
        recording.await_message("publishes no context yet")
        fake.obey(f"load {FAKES / libc}_library.so")
        recording.await_message(LOADED)
        self.check(fake, recording, "dynamic (DTPMOD64+DTPOFF64)")

    def check_program(self, name):
        fake = self.start(name)
        self.check(fake, self.enter(Recording(self.output, "-p", fake.pid)), "static (none)")

    def test_a_library_of_glibc(self):
        self.check_library("glibc")

    def test_a_library_of_musl(self):
        self.check_library("musl")

    def test_a_thread_that_sleeps_while_its_variable_is_allocated(self):
        """Between the probe and the store: what is read there is not in force any more after it."""
        fake = self.start("glibc_loads")
        fake.obey(f"load {FAKES}/glibc_library.so")
        recording = self.enter(Recording(self.output, "-p", fake.pid))
        fake.obey(f"asleep asleep {REQUESTS}")
        self.assert_ended_well(recording, recording.stop())
        self.assert_calls(recording.records(), "asleep", REQUESTS)

    def test_a_program_of_glibc(self):
        self.check_program("glibc_inside")

    def test_a_program_of_musl(self):
        self.check_program("musl_inside")

    def test_a_static_program_of_glibc(self):
        self.check_program("glibc_static")

    def test_a_static_program_of_musl(self):
        self.check_program("musl_static")

    def test_a_variable_that_is_set_around_the_probes_is_seen_in_the_next_window(self):
        fake = self.start("glibc_loads")
        fake.obey(f"load {FAKES}/glibc_library.so")
        recording = self.enter(Recording(self.output, "-p", fake.pid, "-i", "100ms"))
        fake.obey("around around 1000")
        self.assert_ended_well(recording, recording.stop())
        found = recording.records()
        # One sleep of 2 ms after the other; half of them is more than one window's.
        self.assertGreater(records.calls_of(found, "around").get("around-0", 0), 250)
        self.assertTrue(all("inherited" in record.get("flags", ()) for record in found
                            if record.get("request_id") == "around-0"))


if __name__ == "__main__":
    harness.main()
