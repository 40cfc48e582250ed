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


def size_bytes(path):
    """None is at its name between the file that has got another one and the next."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


class LimitTest(harness.LiveTest):
    LIMIT_BYTES = 1 << 20

    def test_each_file_can_be_read_by_itself_and_both_together_are_no_more_than_asked_for(self):
        kept = self.folder / "out.msgpack.1"
        workload = self.enter(Workload("driven.rb"))
        largest = 0
        with Recording(self.output, "-p", workload.pid, "-i", "50ms", "--timeline", "--stacks",
                       "--output-max", "1M") as recording:
            requests = 0
            while not kept.exists() or requests < 6000:
                workload.evaluate(f"300.times {{ |n| Correlator.with(request_id: \"r-#{{n + {requests}}}\") "
                                  "{ Workload.spin_ms(0.1); sleep(0.0001) } } && nil")
                requests += 300
                largest = max(largest, size_bytes(self.output) + size_bytes(kept))
            self.assert_ended_well(recording, recording.stop())
        # As much as they had in between nobody saw: each half is bounded by itself.
        self.assertLessEqual(max(largest, size_bytes(self.output) + size_bytes(kept)), self.LIMIT_BYTES)
        both = [list(records.read_records(path)) for path in (kept, self.output)]
        own = [[record for _, record in found_at] for found_at in both]
        for found, found_at in zip(own, both):
            self.assertEqual(["meta", "process"], [record["kind"] for record in found[:2]])
            self.assertEqual(workload.pid, found[1]["pid"])
            # The stacks of a window that began in the file before may have been told there.
            stacks = {record["stack_id"] for record in records.of_kind(found, "stack")}
            windows = [when for when, record in found_at if record["kind"] == "balance"]
            self.assertLessEqual({record["stack_id"] for when, record in found_at
                                  if record["kind"] == "sample" and when > min(windows, default=when)}, stacks)
        # One goes on where the other one ended, and has what both need again.
        first, second = [[int(record["record_id"].rsplit(":", 1)[1]) for record in found] for found in own]
        numbers = first[2:] + second[2:]
        self.assertEqual([*range(numbers[0], numbers[-1] + 1)], numbers)
        report = run_correlator("report", "--format", "json", kept, self.output)
        self.assertEqual(harness.EXIT_OK, report.returncode, report.stderr)

    def test_a_limit_wants_a_file_and_room_beside_it(self):
        workload = self.enter(Workload("driven.rb"))
        (self.folder / "out.msgpack.1").touch()
        for output, reason in (("-", "needs a regular file"), ("/dev/null", "needs a regular file"), (self.output, "out.msgpack.1")):
            result = run_correlator("record", "-p", workload.pid, "-o", output, "--output-max", "1M")
            self.assertEqual(harness.EXIT_FAILURE, result.returncode, result.stderr)
            self.assertIn(reason, result.stderr)
        self.assertFalse(self.output.exists())


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
        few = harness.as_user(self.folder, ("bpf", "perfmon", "sys_ptrace"))
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
