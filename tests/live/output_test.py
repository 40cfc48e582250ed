# SPDX-License-Identifier: GPL-2.0-only
"""A recording is one recorder's own, and what was there before is lost only to who asked for it."""
import os
import shutil
import subprocess

import harness
import records
from harness import Recording, Workload, run_correlator

OLD = b"what was there before"
BRIEFLY = ("-i", "20ms", "-d", "100ms")


class Default(Recording):
    """A recording without -o, in a folder of its own."""

    def command(self, _path, *arguments):
        return [harness.CORRELATOR, "record", *arguments]


class OutputTest(harness.LiveTest):
    def setUp(self):
        super().setUp()
        self.workload = self.enter(Workload("sequential.rb", 12))

    def record(self, *arguments, code=harness.EXIT_OK, says=(), **options):
        """A short recording, that ends by itself."""
        result = run_correlator("record", "-p", self.workload.pid, *BRIEFLY, *arguments, **options)
        self.assertEqual(code, result.returncode, result.stderr)
        for text in says:
            self.assertIn(text, result.stderr)
        return result

    def refuse(self, *arguments, **options):
        return self.record(*arguments, code=harness.EXIT_FAILURE, **options)

    def check_one_recorder(self, path):
        """A complete recording whose records are all of one recorder, none missing."""
        found = [record for _, record in records.read_records(path)]
        recorders, numbers = zip(*(record["record_id"].rsplit(":", 1) for record in found))
        self.assertEqual(1, len(set(recorders)))
        self.assertEqual([*range(1, len(found) + 1)], [*map(int, numbers)])


class SharedTest(OutputTest):
    def check_second(self, recording, path, *others, **options):
        """While one writes to path, another one is refused: named as in others."""
        for other in others:
            for force in (), ("--force",):
                self.refuse(*other, *force, says=["another recorder is writing to it", "-o FILE"],
                            **options)
        self.workload.run()
        self.assert_ended_well(recording, recording.stop())
        self.check_one_recorder(path)

    def test_two_of_one_name_or_of_two_paths_to_one_file(self):
        with Recording(self.output, "-p", self.workload.pid, "-i", "20ms") as recording:
            harness.await_true(lambda: self.output.stat().st_size, "the first window")
            self.check_second(recording, self.output, ("-o", self.output),
                              ("-o", self.folder / ".." / self.folder.name / self.output.name))

    def test_two_of_the_default_name(self):
        path = self.folder / "correlator.msgpack"
        with Default(path, "-p", self.workload.pid, "-i", "20ms", cwd=self.folder) as recording:
            self.check_second(recording, path, (), ("-o", path), cwd=self.folder)

    def test_two_on_standard_output_of_two_shells(self):
        with open(self.output, "wb") as first, open(self.output, "wb") as second:
            with Recording("-", "-p", self.workload.pid, "-i", "20ms", stdout=first) as recording:
                self.check_second(recording, self.output, ("-o", "-"), stdout=second)

    def test_a_recorder_that_is_killed_leaves_no_lock(self):
        with Recording(self.output, "-p", self.workload.pid, "-i", "20ms") as recording:
            harness.await_true(lambda: self.output.stat().st_size, "the first window")
            recording.process.kill()
            recording.wait()
        self.record("-o", self.output, "--force")
        self.check_one_recorder(self.output)

    def test_two_of_one_spool(self):
        stream = ("--forward", "tcp://127.0.0.1:1", "--spool", self.folder / "spool")
        with Default("no file", "-p", self.workload.pid, "-i", "20ms", *stream) as recording:
            for output in (), ("-o", self.output):
                self.refuse(*stream, *output, says=["another correlator is using it"])
            result = run_correlator("forward", stream[-1], "--to", stream[1])
            self.assertEqual(harness.EXIT_FAILURE, result.returncode, result.stderr)
            self.assertIn("another correlator is using it", result.stderr)
            self.assert_ended_well(recording, recording.stop())
        self.assertFalse(self.output.exists())


class OldTest(OutputTest):
    def put(self, content, path=None):
        path = path or self.output
        path.touch(0o600)
        path.write_bytes(content)

    def test_an_old_recording_is_overwritten_only_by_force(self):
        self.record("-o", self.output)
        old = self.output.read_bytes()
        self.refuse("-o", self.output, says=[str(self.output), "not empty", "-o FILE", "--force"])
        self.assertEqual(old, self.output.read_bytes())
        self.record("-o", self.output, "--force")
        self.assertNotEqual(old, self.output.read_bytes())
        self.check_one_recorder(self.output)

    def test_so_is_one_of_the_default_name(self):
        path = self.folder / "correlator.msgpack"
        self.put(OLD, path)
        self.refuse(cwd=self.folder, says=["correlator.msgpack", "--force"])
        self.assertEqual(OLD, path.read_bytes())
        self.record("--force", cwd=self.folder)
        self.check_one_recorder(path)

    def test_an_empty_file_is_written_to(self):
        self.put(b"")
        self.record("-o", self.output)
        self.check_one_recorder(self.output)

    def test_a_shorter_recording_leaves_nothing_of_a_longer_one(self):
        self.put(OLD * 100_000)
        self.record("-o", self.output, "--force")
        self.check_one_recorder(self.output)

    def test_a_recording_that_fails_early_leaves_what_was_there(self):
        self.put(OLD)
        forced = ("record", "--force", "-o", self.output)
        binary = shutil.copy(harness.CORRELATOR, self.folder)
        shutil.chown(self.output, harness.NOBODY)
        unprivileged = subprocess.run([binary, *map(str, forced), "-p", str(self.workload.pid)],
                                      user=harness.NOBODY, group=harness.NOBODY, extra_groups=[],
                                      text=True, capture_output=True,
                                      timeout=harness.DEADLINE_SECONDS)
        self.assertEqual(harness.EXIT_UNSUPPORTED, unprivileged.returncode, unprivileged.stderr)
        self.assertEqual(OLD, self.output.read_bytes())
        shutil.chown(self.output, "root")
        locked = self.folder / "others"
        locked.mkdir(0o755)
        for code, *arguments in (
                (harness.EXIT_NO_TARGET, "-p", 4194305),
                (127, "--", "/no/such/command"),
                (harness.EXIT_FAILURE, "-p", self.workload.pid, "--metrics", "tcp://8.8.8.8:1"),
                (harness.EXIT_FAILURE, "-p", self.workload.pid, "--forward", "tcp://127.0.0.1:1",
                 "--spool", locked)):
            with self.subTest(arguments):
                result = run_correlator(*forced, *arguments)
                self.assertEqual(code, result.returncode, result.stderr)
                self.assertEqual(OLD, self.output.read_bytes())


class OtherKindsTest(OutputTest):
    def test_a_named_pipe(self):
        os.mkfifo(self.output, 0o600)
        with subprocess.Popen(["cat", self.output], stdout=subprocess.PIPE) as reader:
            self.record("-o", self.output)
            entries, _ = records.unpack_entries(reader.communicate()[0])
        self.assertEqual("meta", entries[0][1]["kind"])

    def test_devices_and_the_name_of_standard_output(self):
        for path in "/dev/null", "/dev/zero":
            self.record("-o", path)
        result = subprocess.run([harness.CORRELATOR, "record", "-p", str(self.workload.pid),
                                 *BRIEFLY, "-o", "/dev/stdout"], capture_output=True,
                                timeout=harness.DEADLINE_SECONDS)
        self.assertEqual(harness.EXIT_OK, result.returncode, result.stderr)
        self.assertEqual("meta", records.unpack_entries(result.stdout)[0][0][1]["kind"])

    def test_a_folder_without_permission(self):
        self.folder.chmod(0o755)
        binary = shutil.copy(harness.CORRELATOR, self.folder)
        few = ["setpriv", f"--reuid={harness.NOBODY}", "--clear-groups",
               *(f"--{kind}-caps=-all,+bpf,+perfmon,+sys_ptrace" for kind in ("inh", "ambient"))]
        result = subprocess.run([*few, binary, "record", "-p", str(self.workload.pid), *BRIEFLY,
                                 "-o", self.output], text=True, capture_output=True,
                                timeout=harness.DEADLINE_SECONDS)
        self.assertEqual(harness.EXIT_FAILURE, result.returncode, result.stderr)
        self.assertIn(f"cannot create {self.output}: Permission denied", result.stderr)

    def test_a_disk_that_fills_up(self):
        disk = self.folder / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=True)
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        self.output = disk / "out.msgpack"
        # An old one that fills it is in the way only until the first write.
        self.output.touch(0o600)
        self.output.write_bytes(b"x" * 65536)
        with Recording(self.output, "--force", "-p", self.workload.pid, "-i", "10ms") as recording:
            self.workload.say("go")
            recording.await_message(f"cannot write records to {self.output}: No space left")
            self.assertEqual(harness.EXIT_FAILURE, recording.stop(), recording.messages)
        self.check_one_recorder(self.output)
        self.assertGreater(self.output.stat().st_size, 60_000)


if __name__ == "__main__":
    harness.main()
