# SPDX-License-Identifier: GPL-2.0-only
"""The files that probes are in: each counted once, whatever it is reached by, and let go in time."""
import collections
import contextlib
import os
import pathlib
import shutil
import subprocess
import time
import unittest

import harness
import records
from harness import Recording, Workload

GEM = harness.BUILD / "ruby" / "lib" / "correlator" / "correlator.so"
BTF = pathlib.Path("/sys/kernel/btf/vmlinux")
# What would wait for a file would do so for ever: only that gets there, also on a machine that is busy.
SECONDS = 30
DEPLOYS = int(os.environ.get("CORRELATOR_DEPLOYS", "12"))


class Files(harness.LiveTest):
    """What is to hold on each kernel."""

    def mount(self, kind, name, *options):
        """Mounts a file system below the test's folder until the test ends; the folder."""
        folder = self.folder / name
        folder.mkdir(parents=True)
        subprocess.run(["mount", "-t", kind, "correlator-test", folder, *options], check=True)
        self.addCleanup(self.unmount, folder)
        return folder

    @staticmethod
    def unmount(folder):
        """The kernel lets go of a probe's file some time after the recording has ended."""
        harness.await_true(lambda: subprocess.run(["umount", folder]).returncode == 0,
                           f"{folder} to be let go")

    def overlay(self, name, lower):
        """A container's view of an image."""
        parts = [self.folder / "parts" / name / part for part in ("upper", "work")]
        for part in parts:
            part.mkdir(parents=True)
        return self.mount("overlay", name, "-o",
                          f"lowerdir={lower},upperdir={parts[0]},workdir={parts[1]}")

    def bare(self, library):
        """A process that publishes by the copy of the library that is in that folder."""
        bare = self.enter(Workload("bare.rb"))
        bare.evaluate(self.load(library))
        return bare

    @staticmethod
    def copy(folder):
        (folder / "correlator").mkdir(parents=True)
        shutil.copy(GEM, folder / "correlator")
        return folder

    @staticmethod
    def load(folder):
        return f'$LOAD_PATH.unshift("{folder}"); require "correlator"'

    def assert_exact(self, found, prefix, count):
        """That each request is charged its own, and that its end was seen where it was, once: a
        stretch on a CPU ends with a switch or with a change of context."""
        ends = collections.Counter()
        for record in records.of_kind(found, "cpu"):
            if record.get("request_id", "").startswith(prefix):
                ends[record["request_id"]] += (record["slices"] - record["switches_voluntary"] -
                                               record["switches_involuntary"])
        self.assertEqual({f"{prefix}-{number}": 1 for number in range(count)}, ends)
        self.assert_calls(found, prefix, count)

    def check_containers(self):
        """The kernel probes the image's file: once for all of them, by whatever path they map it."""
        self.mount("tmpfs", "parts")
        image = self.copy(self.mount("tmpfs", "image"))
        roots = [image, *(self.overlay(f"container-{number}", image) for number in range(3))]
        bares = [self.bare(root) for root in roots]
        with Recording(self.output, *(word for bare in bares for word in ("-p", bare.pid))) \
                as recording:
            for number, bare in enumerate(bares):
                bare.evaluate(f'requests("c{number}", 5)')
            self.assert_ended_well(recording, recording.stop())
        found = recording.records()
        for number in range(len(bares)):
            self.assert_exact(found, f"c{number}", 5)

    def held(self, recording):
        """How many files and kernel objects it has open; None: that changed meanwhile."""
        try:
            return len([os.readlink(link) for link in
                        pathlib.Path(f"/proc/{recording.pid}/fd").iterdir()])
        except FileNotFoundError:
            return None

    def check_deploys(self, count):
        """Each child of a server loads the next copy, and goes; so does the file system under it."""
        bare = self.enter(Workload("bare.rb"))
        recording = self.enter(Recording(self.output, "-i", "200ms", "-p", bare.pid))
        most = None
        for number in range(count):
            release, begin = self.folder / f"release-{number}", self.folder / f"begin-{number}"
            release.mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "correlator-test", release], check=True)
            self.addCleanup(subprocess.run, ["umount", "-q", "-l", release], check=False)
            self.copy(release)
            bare.evaluate(f'$child = fork {{ {self.load(release)}; '
                          f'sleep 0.001 until File.exist?("{begin}"); request("d-{number}") }}')
            recording.await_message(f"publishes contexts by {release}")
            begin.touch()
            bare.evaluate("Process.wait($child)")
            # Refused while anything in it is mapped, open or probed.
            harness.await_true(lambda: not subprocess.run(["umount", release],
                                                          capture_output=True).returncode,
                               "the release to be let go")
            # The first may be seen in the middle of a look; a link for each would be more.
            most = most or harness.await_true(lambda: self.held(recording), "a count")
            harness.await_true(lambda: (self.held(recording) or most + 1) <= most,
                               f"no more than {most} files to be open")
        self.assert_ended_well(recording, recording.stop())
        found = recording.records()
        self.assert_calls(found, "d", count)
        # A change of context that passes no probe is seen at the next boundary.
        self.assertEqual(0, records.books(found)["changes_unseen"])


class FilesTest(Files):
    def test_a_file_that_was_copied_up_after_it_was_mapped(self):
        """Its probe is in the copy, which the process does not run."""
        self.mount("tmpfs", "parts")
        root = self.overlay("container", self.copy(self.folder / "image"))
        bare = self.bare(root)
        (root / "correlator" / GEM.name).chmod(0o750)
        with Recording(self.output, "-i", "200ms", "-p", bare.pid) as recording:
            def is_lean():
                bare.evaluate('requests("before", 20)')
                return "lean from now on" in recording.messages

            harness.await_true(is_lean, "it to be lean")
            bare.evaluate('requests("after", 5)')
            self.assert_ended_well(recording, recording.stop())
        self.assertIn("as if its gem's file had been copied up (overlayfs)", recording.messages)
        found = recording.records()
        self.assert_calls(found, "after", 5)
        told = [record for record in records.of_kind(found, "process") if record["event"] == "mode"]
        self.assertEqual(["lean"], [record["mode"] for record in told])

    def test_containers_over_one_image(self):
        self.check_containers()

    def test_deploys_do_not_add_up(self):
        self.check_deploys(DEPLOYS)

    @unittest.skipUnless(b"bpf_uprobe_multi_link\0" in BTF.read_bytes(), "refused by that link")
    def test_a_file_that_cannot_be_probed(self):
        """Said once, and tried again; its process is observed all the same."""
        switch = self.folder / "switch"
        switch.touch()
        plain = self.bare(self.copy(self.folder / "plain"))
        refused = self.bare(self.copy(self.folder / "refused"))
        environment = {**os.environ, "REFUSED_PROBES": str(switch),
                       "LD_PRELOAD": str(harness.BUILD / "fixtures/refused_program.so")}
        with Recording(self.output, "-p", plain.pid, "-p", refused.pid, env=environment) as recording:
            refused.evaluate('requests("lean", 20)')
            plain.evaluate('requests("plain", 20)')
            switch.unlink()
            recording.await_message(rf"process {refused.pid} .*: exact from now on")
            refused.evaluate('requests("late", 20)')
            self.assert_ended_well(recording, recording.stop())
        found = recording.records()
        said, = [line for line in recording.messages.splitlines() if "cannot place probes" in line]
        self.assertIn(f"{self.folder}/refused/correlator/correlator.so for process {refused.pid}",
                      said)
        modes = [(record["event"], record["mode"]) for record in records.of_kind(found, "process")
                 if record["pid"] == refused.pid]
        self.assertEqual([("found", "lean"), ("mode", "exact")], modes)
        self.assert_calls(found, "lean", 20)
        # Its neighbour's are in place all the while.
        self.assert_exact(found, "plain", 20)
        self.assert_exact(found, "late", 20)


class Served(harness.Process):
    """A file on a file system that a process of ours answers for, or does not: the gem, or another one."""

    def __init__(self, folder, name="correlator.so", content=GEM):
        folder.mkdir(parents=True)
        super().__init__([harness.BUILD / "fixtures/served", folder, name, content],
                         text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        said = self.process.stdout.readline()
        assert said == "ready\n", said

    def say(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def __exit__(self, *_):
        # Its end is that of the connection: who waits goes on.
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
        super().__exit__()


@unittest.skipUnless(os.access("/dev/fuse", os.R_OK | os.W_OK), "no /dev/fuse")
class ServedFilesTest(Files):
    """Files of which a process says when they come, and whether."""

    def setUp(self):
        super().setUp()
        self.seen = self.folder / "served"
        self.served = self.enter(Served(self.folder / "served" / "correlator"))
        self.plain = self.bare(self.copy(self.folder / "plain"))
        self.load_served()

    def load_served(self):
        self.suspect = self.bare(self.seen)

    def record(self, *options):
        return self.enter(Recording(self.output, "-i", "200ms", *options,
                                    "-p", self.suspect.pid, "-p", self.plain.pid))

    def assert_goes_on(self, recording):
        """The honest one is measured, the machine forks, and the recording ends when it is to."""
        self.plain.evaluate('requests("plain", 20)')
        subprocess.run(["/bin/true"], check=True, timeout=SECONDS)
        start = time.monotonic()
        self.assert_ended_well(recording, recording.stop())
        self.assertLess(time.monotonic() - start, SECONDS)
        found = recording.records()
        self.assert_exact(found, "plain", 20)
        return found

    def test_one_that_answers_is_lean_alone(self):
        recording = self.record()
        self.suspect.evaluate('requests("lean", 20)')
        found = self.assert_goes_on(recording)
        said, = [line for line in recording.messages.splitlines() if "cannot place probes" in line]
        self.assertIn(f"{self.seen}/correlator/correlator.so for process {self.suspect.pid}",
                      said)
        self.assertIn("a process answers for that file (FUSE)", said)
        modes = [(record["event"], record["mode"], record.get("reason"))
                 for record in records.of_kind(found, "process")
                 if record["pid"] == self.suspect.pid]
        self.assertEqual([("found", "lean")], [mode[:2] for mode in modes])
        self.assertIn("(FUSE)", modes[0][2])
        self.assert_calls(found, "lean", 20)

    def check_given_up(self, reads):
        self.served.say(reads)
        recording = self.record()
        self.assert_goes_on(recording)
        said, = [line for line in recording.messages.splitlines() if "given up" in line]
        self.assertIn(f"process {self.suspect.pid}: its file {self.seen}/correlator/correlator.so "
                      "does not come", said)

    def test_one_that_does_not_answer_a_read_is_given_up(self):
        self.check_given_up("reads 0")

    def test_nor_one_that_answers_no_more_in_the_middle(self):
        self.check_given_up("reads 2")

    def test_nor_one_that_answers_nothing_at_all(self):
        self.check_given_up("mute")

    def test_one_that_stops_while_it_is_observed(self):
        """And is closed by the recording's end, which waits for no answer."""
        recording = self.record()
        self.suspect.evaluate('requests("lean", 20)')
        self.served.say("mute")
        found = self.assert_goes_on(recording)
        self.assert_calls(found, "lean", 20)

    def test_doctor_names_it(self):
        self.served.say("reads 0")
        start = time.monotonic()
        said = subprocess.run([harness.CORRELATOR, "doctor", "-p", str(self.suspect.pid)],
                              capture_output=True, text=True, timeout=2 * SECONDS)
        self.assertLess(time.monotonic() - start, 2 * SECONDS)
        self.assertNotEqual(0, said.returncode)
        self.assertRegex(said.stdout + said.stderr,
                         f"{self.seen}/correlator/correlator.so does not come")

    def test_a_recording_of_it_alone_can_be_ended(self):
        self.served.say("reads 0")
        with Recording(self.output, "-p", self.suspect.pid) as recording:
            start = time.monotonic()
            self.assertEqual(harness.EXIT_NO_TARGET, recording.stop(), recording.messages)
        self.assertLess(time.monotonic() - start, SECONDS)
        self.assertIn("does not come", recording.messages)


class ServedOverlayTest(ServedFilesTest):
    """The same of an overlay over them, of which neither stat(2) nor maps tells what is below."""

    def load_served(self):
        parts = self.mount("tmpfs", "parts")
        for part in ("upper", "work"):
            (parts / part).mkdir()
        self.seen = self.folder / "over"
        self.mount("overlay", "over/correlator", "-o",
                   f"lowerdir={self.folder}/served/correlator,upperdir={parts}/upper,"
                   f"workdir={parts}/work")
        # Before that is let go: who waits for an answer holds it.
        self.addCleanup(self.served.__exit__)
        super().load_served()


if __name__ == "__main__":
    harness.main()
