# SPDX-License-Identifier: GPL-2.0-only
"""
Known answers, values of every kind, fibers told apart, stacks of Ractors with and without YJIT, waits for the GVL,
garbage collections and GC stress, long waits, what is read and written, and children, with another Debian's Ruby and libc,
in a container: the live tests, with their workloads moved there. CORRELATOR_ROOT names the root.
"""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "live"))

import children_test
import container
import fibers_test
import gc_test
import gvl_test
import harness
import io_test
import known_answers_test
import off_cpu_test
import ractors_test
import reasons_test
import records
import stalls_test
import values_test
from fibers_test import FibersTest
from gc_test import GcTest
from gvl_test import GvlTest
from known_answers_test import KnownAnswersTest
from ractors_test import RactorsTest
from reasons_test import ReasonsTest
from values_test import ContextTest, ValuesTest

ROOT = pathlib.Path(os.environ["CORRELATOR_ROOT"]).resolve()
GEM = ROOT.with_name(ROOT.name + ".gem")
# The container may not have a userfaultfd, a priority or a low port.
NO_RIGHTS = {"RIGHTS": "off"}


class MatrixWorkload(container.ContainedWorkload):
    def __init__(self, script, *arguments, environment=None):
        super().__init__(script, *arguments, environment=environment, root=ROOT,
                         library=[GEM / "lib"])


class MatrixWaiter(reasons_test.Waiting, MatrixWorkload):
    def environment(self, changes):
        return {**super().environment(changes), **NO_RIGHTS}


class MatrixIo(MatrixWorkload):
    run = io_test.IoWorkload.run

    def __init__(self, script, _):
        super().__init__(script, "/tmp", environment=NO_RIGHTS)


def chosen(case, *names):
    """The class with these of its tests alone."""
    others = {name: None for name in dir(case) if name.startswith("test_") and name not in names}
    return type(case.__name__, (case,), others)


for module in off_cpu_test, reasons_test, stalls_test:
    module.Waiter = MatrixWaiter
for module in children_test, fibers_test, gc_test, gvl_test, known_answers_test, ractors_test, values_test:
    module.Workload = MatrixWorkload
io_test.IoWorkload = MatrixIo

# These depend on the Ruby, or its libc: how it waits, reads, writes, and starts processes.
ChildrenTest = chosen(children_test.ChildrenTest, "test_system_with_a_shell", "test_backticks",
                      "test_spawn_and_wait", "test_a_pipeline_of_open3")
IoTest = chosen(io_test.IoTest, "test_requests_of_threads_and_fibers_have_what_they_moved")
IoTest.REQUESTS = io_test.IoTest.REQUESTS - 1  # of DNS


class StallsTest(chosen(stalls_test.StallsTest,
                        "test_each_is_as_long_as_it_took_with_what_it_was_on_and_who_ended_it",
                        "test_so_it_is_without_probes")):
    STARVES = False

    def assert_stalls_are_right(self, truth, found, **options):
        lacks = ["woken_by_pid"]  # The container has its own.
        version = next(process["ruby_version"] for process in records.of_kind(found, "process"))
        if version < "3.0":
            lacks += ["blocked_on"]  # It polls before it reads, but not before it accepts.
        if version >= "3.3":
            # A thread that is to run again sleeps on until another one gives up the GVL, which need not be in the
            # request any more that ended its wait.
            lacks += ["woken_by_request_id", "woken_by_endpoint"]
        super().assert_stalls_are_right(truth, found, **options, lacks=lacks)


class RootTest(harness.LiveTest):
    def test_it_is_another_ruby_and_libc_without_symbols_in_namespaces_of_its_own(self):
        with MatrixWorkload("driven.rb") as workload:
            version = workload.evaluate("RUBY_VERSION")
            doctor = harness.run_correlator("doctor", "-p", workload.pid)
            maps = pathlib.Path(f"/proc/{workload.pid}/maps").read_text()
            for kind in "pid", "mnt", "user":
                self.assertNotEqual(container.namespace("self", kind),
                                    container.namespace(workload.pid, kind))
        self.assertEqual(harness.EXIT_OK, doctor.returncode, doctor.stdout)
        print(doctor.stdout.partition("Process")[2])
        self.assertRegex(doctor.stdout, rf"ok +Ruby +{version} in /usr/lib/")
        self.assertRegex(doctor.stdout, r"ok +frames +of (56|64) bytes; .* agree on 3\d figures")
        self.assertRegex(doctor.stdout, r"ok +thread-local +.* in /srv/correlator/correlator\.so")
        library = ROOT / next(word for word in maps.split() if "/libruby" in word)[1:]
        sections = subprocess.run(["readelf", "--section-headers", "--wide", library], text=True,
                                  capture_output=True, check=True).stdout
        self.assertIn(".dynsym", sections)
        self.assertNotIn(".symtab", sections)


class OffCpuTest(off_cpu_test.OffCpuTest):
    def setUp(self):
        # Where threads of Ruby 2.7 wait, their frames are out of reach.
        with MatrixWorkload("driven.rb") as ruby:
            if ruby.evaluate("RUBY_VERSION") < "3.0":
                self.skipTest("the frames of what waits are not found before Ruby 3")
        super().setUp()

    def serve_slow_file(self):
        """The container does not see it."""


class SharedNativeThreadsTest(harness.LiveTest):
    """Ruby 3.3+ with RUBY_MN_THREADS=1: its threads share native ones. Who does not follow them has
    their contexts mixed up, which is said wherever their figures are."""

    THREADS = 12
    # Of the request's own, and what the interpreter does for ten sleeps.
    CALLS = range(2000, 2400)
    # Of an application with ruby-profiler alone.
    THEIRS = ("module Correlator; def self.with(**pairs); Ruby::Profiler::State.new(**pairs).apply!; "
              "yield; ensure; Ruby::Profiler::State.new.apply!; end; end")

    def start(self, features):
        ruby = self.enter(MatrixWorkload("bare.rb", environment={"RUBY_MN_THREADS": "1"}))
        if ruby.evaluate("RUBY_VERSION") < "3.3":
            self.skipTest("before Ruby 3.3 none are shared")
        for feature in features:
            ruby.evaluate(f'require "{feature}"')
        if "correlator" not in features:
            ruby.evaluate(self.THEIRS)
        return ruby

    def observe(self, *features):
        """What doctor says of the threads, the recording's messages, the records of requests."""
        ruby = self.start(features)
        doctor = harness.run_correlator("doctor", "-p", ruby.pid).stdout
        recording = self.enter(harness.Recording(self.output, "-p", ruby.pid))
        ruby.evaluate(f'threads("thread", {self.THREADS})')
        self.assert_ended_well(recording, recording.stop())
        found = [record for record in records.of_kind(recording.records(), "cpu")
                 if record["request_id"]]
        line = next((line for line in doctor.splitlines() if "share native ones" in line), None)
        return line, recording.messages, found

    def check_followed(self, *features):
        line, messages, found = self.observe(*features)
        self.assertRegex(line, "^ *ok +threads .* are followed")
        self.assertNotIn("share native ones", messages)
        self.assertEqual([], [record for record in found if "flags" in record])
        calls = records.calls_of(found, "thread")
        self.assertEqual({f"thread-{number}" for number in range(self.THREADS)}, set(calls))
        self.assertEqual([], [(name, number) for name, number in calls.items()
                              if number not in self.CALLS])

    def test_our_gem_follows_them(self):
        self.check_followed("correlator")

    def test_it_follows_upstreams_contexts_too(self):
        self.check_followed("profiler_stand_in", "correlator")

    def test_upstreams_alone_is_flagged(self):
        line, messages, found = self.observe("profiler_stand_in")
        self.assertRegex(line, "^ *note +threads .*profiler_stand_in.so does not follow them")
        self.assertIn("is flagged mixed_threads", messages)
        self.assertTrue(found)
        self.assertEqual([], [record for record in found
                              if "mixed_threads" not in record.get("flags", ())])


if __name__ == "__main__":
    harness.main()
