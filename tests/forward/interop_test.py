#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A collector that we did not write gets each record once, with the fields that the file has.

JavaScript has its integers as doubles: they are compared as such, all else exactly.
"""
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))

import harness  # noqa: E402
import records  # noqa: E402
from fluent.sender import EventTime  # noqa: E402
from harness import Process, Recording, Workload, run_correlator  # noqa: E402

KEY, USER, PASSWORD = "a shared key", "puma", "pass word"


class Receiver(Process):
    """receiver.js; ready once constructed."""

    def __init__(self, **options):
        super().__init__(["node", HERE / "receiver.js", json.dumps(options)], text=True,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         env={**os.environ, "NODE_PATH": str(harness.BUILD / "npm/node_modules")})
        words = self.process.stdout.readline().split()
        if words[:1] != ["ready"]:
            self.__exit__()
            raise RuntimeError(f"receiver.js does not start: it said {words}")
        self.url = f"tcp://127.0.0.1:{words[1]}"

    def finish(self):
        """All that it got."""
        output, _ = self.process.communicate(timeout=harness.DEADLINE_SECONDS)
        return [json.loads(line) for line in output.splitlines()]


def as_doubles(value):
    if isinstance(value, dict):
        return {name: as_doubles(field) for name, field in value.items()}
    if isinstance(value, list):
        return [as_doubles(field) for field in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


class InteropTest(harness.LiveTest):
    def setUp(self):
        super().setUp()
        self.key_file = self.secret("key", KEY)
        self.password_file = self.secret("password", PASSWORD)

    def secret(self, name, text):
        path = self.folder / name
        path.write_text(text + "\n")
        path.chmod(0o600)
        return path

    def record(self, *arguments):
        """A recording, with a stream beside it."""
        with Workload("sequential.rb", 24) as workload:
            with Recording(self.output, "-p", workload.pid, "-i", "50ms", *arguments) as recording:
                workload.run()
                self.assert_ended_well(recording, recording.stop())
        return recording

    def check(self, received):
        """Each entry of the file, once, in its order."""
        written = records.read_records(self.output)
        self.assertGreater(len(written), 20)
        self.assertEqual(len(written), len(received))
        for (time, record), entry in zip(written, received):
            seconds, nano = (int.from_bytes(time.data[at:at + 4], "big") for at in (0, 4))
            self.assertEqual((seconds, nano), (entry["seconds"], entry["nano"]))
            self.assertEqual("correlator.records", entry["tag"])
            self.assertEqual(as_doubles(record), as_doubles(entry["record"]))

    def test_a_recording_streams_to_it(self):
        with Receiver() as receiver:
            self.record("--forward", receiver.url)
            self.check(receiver.finish())

    def test_a_file_is_sent_to_it_by_key_and_by_user(self):
        self.record()
        with Receiver() as receiver:
            self.send(receiver)
            self.check(receiver.finish())
        with Receiver(shared_key=KEY) as receiver:
            self.send(receiver, "--shared-key-file", self.key_file)
            self.check(receiver.finish())
        with Receiver(shared_key=KEY, user=USER, password=PASSWORD) as receiver:
            self.send(receiver, "--shared-key-file", self.key_file, "--user", USER,
                      "--password-file", self.password_file)
            self.check(receiver.finish())

    def send(self, receiver, *arguments):
        result = run_correlator("forward", self.output, "--to", receiver.url, *arguments)
        self.assertEqual(harness.EXIT_OK, result.returncode, result.stderr)

    def test_a_wrong_key_and_a_wrong_password_are_refused_in_one_line(self):
        self.record()
        wrong = self.secret("wrong", "another")
        for arguments in (("--shared-key-file", wrong),
                          ("--shared-key-file", self.key_file, "--user", USER, "--password-file",
                           wrong),
                          ()):
            with Receiver(shared_key=KEY, user=USER, password=PASSWORD) as receiver:
                result = run_correlator("forward", self.output, "--to", receiver.url,
                                        "--give-up", "500ms", *arguments)
                self.assertEqual(harness.EXIT_FAILURE, result.returncode, result.stderr)
                self.assertEqual(1, result.stderr.count(f"warning: {receiver.url}"),
                                 result.stderr)
                self.assertEqual([], receiver.finish())

    def test_the_time_is_what_fluent_logger_sends(self):
        self.record()
        for time, _ in records.read_records(self.output)[:10]:
            seconds, nano = (int.from_bytes(time.data[at:at + 4], "big") for at in (0, 4))
            other = EventTime(seconds)
            self.assertEqual((other.code, other.data[:4], 8),
                             (time.code, time.data[:4], len(time.data)))
            self.assertLess(nano, 10**9)


if __name__ == "__main__":
    harness.main()
