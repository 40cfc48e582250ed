# SPDX-License-Identifier: GPL-2.0-only
"""Other libcs, other ways to link: fixtures/fake_ruby.c, which runs where no Ruby here does."""
import re

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

    def record(self, *fakes):
        return self.enter(Recording(self.output, *(word for fake in fakes for word in ("-p", fake.pid))))

    def check(self, fakes, recording, model):
        """Requests of main threads and of others are known of each; doctor says how their variable is found."""
        for fake in fakes:
            fake.obey(f"main main {REQUESTS}")
            fake.obey(f"worker worker {REQUESTS}")
        self.assert_ended_well(recording, recording.stop())
        found = recording.records()
        said = re.split(r"^Process (\d+) ", run_correlator("doctor", *(word for fake in fakes for word in
                                                                      ("-p", fake.pid))).stdout, flags=re.M)
        for fake in fakes:
            with self.subTest(fake.process.args):
                own = [record for record in found if record.get("pid") == fake.pid]
                self.assert_calls(own, "main", REQUESTS)
                self.assert_calls(own, "worker", REQUESTS)
                self.assertIn(model, said[said.index(str(fake.pid)) + 1])

    def test_a_library_that_is_loaded_later(self):
        """The worker is older than the library: its DTV is too short for it, at first."""
        libcs = "glibc", "musl"
        fakes = [self.start(f"{libc}_loads") for libc in libcs]
        recording = self.record(*fakes)
        for libc, fake in zip(libcs, fakes):
            recording.await_message(f"process {fake.pid} .*publishes no context yet")
            fake.obey(f"load {FAKES / libc}_library.so")
            recording.await_message(f"process {fake.pid} .*{LOADED}")
        self.check(fakes, recording, "dynamic (DTPMOD64+DTPOFF64)")

    def test_a_program_that_has_it_inside(self):
        fakes = [self.start(name) for name in ("glibc_inside", "musl_inside", "glibc_static", "musl_static")]
        self.check(fakes, self.record(*fakes), "static (none)")

    def test_a_thread_that_sleeps_while_its_variable_is_allocated(self):
        """Between the probe and the store: what is read there is not in force any more after it."""
        fake = self.start("glibc_loads")
        fake.obey(f"load {FAKES}/glibc_library.so")
        recording = self.record(fake)
        fake.obey(f"asleep asleep {REQUESTS}")
        self.assert_ended_well(recording, recording.stop())
        self.assert_calls(recording.records(), "asleep", REQUESTS)

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
