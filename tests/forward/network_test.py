#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Two hosts: Correlator in one network namespace, the collector in another, and a bad link between.

Packets are lost, delayed and reordered, and the link is cut for a time: the recording is whole, and
each of its records arrives.
"""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))

import harness  # noqa: E402
import records  # noqa: E402
from harness import Process, Recording, Workload  # noqa: E402

SEED = 1
BUSY = ("Thread.new { loop { Correlator.with(request_id: rand(100).to_s) "
        "{ 2000.times { |i| i.hash }; sleep 0.001 } } }; nil")
PORT = 24224
WINDOWS_BEFORE_CUT = 5
# A window that cuts a running thread's stint has its exec runtime by two clocks: how far they are
# apart is read once a millisecond, on a machine that may be taken away between the two readings.
CUT_NS = 20_000


def in_namespace(name, *command):
    # Not `ip netns exec`: that would mount another /sys.
    return ["nsenter", f"--net=/run/netns/{name}", *map(str, command)]


class Namespace:
    def __init__(self, name):
        self.name = name
        subprocess.run(["ip", "netns", "add", name], check=True)
        subprocess.run(in_namespace(name, "ip", "link", "set", "lo", "up"), check=True)

    def __exit__(self, *_):
        subprocess.run(["ip", "netns", "del", self.name], check=True)


class Talker(Process):
    """A script of ours that answers each line."""

    def __init__(self, command):
        super().__init__(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.listen()

    def listen(self):
        if not self.process.stdout.readline():
            self.__exit__()
            raise RuntimeError("it ended")

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        self.listen()


class NamespacedRecording(Recording):
    def __init__(self, namespace, *arguments):
        self.namespace = namespace
        super().__init__(*arguments)

    def command(self, path, *arguments):
        return in_namespace(self.namespace, *super().command(path, *arguments))


class NetworkTest(harness.LiveTest):
    def setUp(self):
        super().setUp()
        names = [f"correlator-{os.getpid()}-{end}" for end in "ab"]
        self.sender, self.receiver = [self.enter(Namespace(name)).name for name in names]
        self.link = self.enter(Talker([sys.executable, HERE / "link.py", self.sender,
                                       self.receiver, str(SEED)]))
        self.arrived = self.folder / "arrived"
        self.enter(Talker(in_namespace(self.receiver, sys.executable, HERE / "acking.py",
                                       f"10.213.0.2:{PORT}", self.arrived)))

    def received(self):
        data = self.arrived.read_bytes() if self.arrived.exists() else b""
        return [record for _, record in records.unpack_entries(data)[0]]

    def windows(self, found):
        return len(records.of_kind(found, "self"))

    def test_each_record_arrives_over_a_bad_link(self):
        url, spool = f"tcp://10.213.0.2:{PORT}", self.folder / "spool"
        workload = self.enter(Workload("driven.rb"))
        workload.evaluate(BUSY)
        recording = self.enter(NamespacedRecording(
            self.sender, self.output, "-p", workload.pid, "-i", "100ms", "--forward", url,
            "--spool", spool, "--ack-timeout", "2s", "--retry-max", "200ms"))
        self.link.say("delay 20")
        self.link.say("loss 10")
        harness.await_true(lambda: self.windows(self.received()) >= WINDOWS_BEFORE_CUT, "records")
        self.link.say("cut")
        seen = self.windows(self.received())

        def recorded():
            return records.unpack_entries(self.output.read_bytes())[0]

        harness.await_true(lambda: self.windows(record for _, record in recorded()) >
                           seen + 3 * WINDOWS_BEFORE_CUT, "windows during the cut")
        self.link.say("join")
        before = len(recorded())
        harness.await_true(lambda: len(self.ids(self.received())) >= before,
                           "what was spooled during the cut")
        self.link.say("loss 0")
        self.link.say("delay 0")
        self.assert_ended_well(recording, recording.stop())
        # What the last seconds did not bring over waits in the spool.
        left = subprocess.run(in_namespace(self.sender, harness.CORRELATOR, "forward", spool, "--to",
                                           url), capture_output=True, text=True)
        self.assertEqual(harness.EXIT_OK, left.returncode, left.stderr)
        written = recording.records()
        self.assertEqual(self.ids(written), self.ids(self.received()), recording.messages)
        by_id = {record["record_id"]: record for record in written}
        for record in self.received():
            self.assertEqual(by_id[record["record_id"]], record)
        self.assertEqual([], records.unbalanced(written, CUT_NS))

    def ids(self, found):
        return {record["record_id"] for record in found}


if __name__ == "__main__":
    harness.main()
