# SPDX-License-Identifier: GPL-2.0-only
"""Many processes, and those that come and go: found when they appear, whatever the window, and what
is known of one is not looked up for the next."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import harness
from harness import Process, Recording, Workload

# No window ends, and no pass over all processes is due, before this is over.
SOON_SECONDS = 30
WINDOW = "60s"
# A Ruby that publishes nothing is looked at now and then for two seconds.
SETTLED_SECONDS = 3
FEW, MANY = 2, 12
# More than the ring of what is told of strangers has room for.
STORM = 3000


class Named(Workload):
    """bare.rb by a program of another name, which so is its command name."""

    def __init__(self, program, *arguments):
        self.program = program
        super().__init__("bare.rb", *arguments)

    def command(self, script, *arguments):
        return [self.program, *harness.RUBY[1:], harness.FIXTURES / script, *arguments]

    def publish(self):
        self.evaluate('require "correlator"')


class AttachTest(harness.LiveTest):
    def setUp(self):
        super().setUp()
        self.program = self.folder / f"attach-{os.getpid()}"
        self.program.symlink_to(shutil.which("ruby"))

    def start(self):
        return self.enter(Named(self.program))

    def fork(self, ruby, code, count):
        pids = ruby.evaluate(f"Array.new({count}) {{ fork {{ {code} }} }}")
        for pid in pids:
            self.addCleanup(os.kill, pid, signal.SIGKILL)
        return pids

    def search(self):
        return self.enter(Recording(self.output, "--force", "--comm", self.program.name, "-i", WINDOW))

    def await_found(self, recording, pid):
        start = time.monotonic()
        recording.await_message(f"found process {pid} ")
        seconds = time.monotonic() - start
        print(f"found after {seconds:.3f} s")
        self.assertLess(seconds, SOON_SECONDS)

    def test_a_ruby_that_starts_in_a_long_window_is_found_in_it(self):
        recording = self.search()
        ruby = self.start()
        ruby.publish()
        self.await_found(recording, ruby.pid)
        ruby.evaluate('requests("late", 20)')
        self.assert_ended_well(recording, recording.stop())
        self.assert_calls(recording.records(), "late", 20)

    def test_a_ruby_that_publishes_late_is_found_by_what_its_loader_does(self):
        ruby = self.start()
        recording = self.search()
        # It is left alone by then, and nothing but its loader tells.
        time.sleep(SETTLED_SECONDS)
        child, = self.fork(ruby, 'sleep 0.5; require "correlator"; sleep', 1)
        self.await_found(recording, child)
        self.assertNotIn(f"found process {ruby.pid} ", recording.messages)
        ruby.publish()
        self.await_found(recording, ruby.pid)
        self.assert_ended_well(recording, recording.stop())

    def test_what_there_was_no_room_to_tell_of_is_found(self):
        recording = self.search()
        os.kill(recording.pid, signal.SIGSTOP)
        subprocess.run(["sh", "-c", f"i=0; while [ $i -lt {STORM} ]; do /bin/true; i=$((i + 1)); done"],
                       check=True)
        ruby = self.start()
        ruby.publish()
        os.kill(recording.pid, signal.SIGCONT)
        self.await_found(recording, ruby.pid)
        self.assert_ended_well(recording, recording.stop())

    def opened(self, ruby, trace, act=None):
        """What a recording of ruby and its children opens, by the kind of file."""
        # Its agent opens files; what measures system calls would measure those that are traced.
        with Process(["strace", "-f", "-qq", "-e", "trace=openat", "-o", trace, harness.CORRELATOR,
                      "record", "--no-kernel-split", "-o", self.output, "--force", "-p", ruby.pid],
                     text=True, stderr=subprocess.PIPE) as recorder:
            while "correlator: observing " not in recorder.process.stderr.readline():
                self.assertIsNone(recorder.process.poll())
            if act:
                act()
            correlator = pathlib.Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children")
            os.kill(int(correlator.read_text().split()[0]), signal.SIGINT)
            recorder.process.stderr.read()
            recorder.wait()
        return re.findall(r'"(/[^"]*)"', trace.read_text())

    def test_a_worker_is_read_with_what_is_known_of_its_master(self):
        counts = []
        for workers in FEW, MANY:
            with Named(self.program) as ruby:
                ruby.publish()
                ruby.evaluate('Correlator.with(request_id: "master") {}')
                pids = self.fork(ruby, "sleep", workers)
                opened = self.opened(ruby, self.folder / "trace")
            mapped = [path for path in opened if "/map_files/" in path or "/root/" in path]
            of_workers = [path for path in opened
                          if any(path.startswith(f"/proc/{pid}/") for pid in pids)]
            self.assertTrue(mapped)
            self.assertFalse([path for path in of_workers if path in mapped])
            # status and maps and the like, each a fixed number of times.
            self.assertLessEqual(len(of_workers), 8 * workers)
            counts.append(len(mapped))
        self.assertEqual(counts[0], counts[1])

    def test_a_worker_that_is_forked_while_observed_is_not_looked_at(self):
        with Named(self.program) as ruby:
            ruby.publish()
            ruby.evaluate('Correlator.with(request_id: "master") {}')
            pids = []
            opened = self.opened(
                ruby, self.folder / "trace",
                lambda: pids.extend(self.fork(ruby, "sleep", MANY)))
        self.assertEqual(MANY, len(pids))
        self.assertFalse([path for path in opened
                          if any(path.startswith(f"/proc/{pid}/") for pid in pids)])


if __name__ == "__main__":
    harness.main()
