#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""kill -9 of Correlator, KILLS times, while it streams with a spool: nothing that was sealed is lost.

The n-th kill comes n/KILLS of SPREAD_SECONDS after it says that it observes, every fourth once it
has sealed something, too. That is no synchronisation: each instant must do. Most of the time is
attaching: unit.recorder.queue.test_spool_kill kills a spool alone, more often, and test_disk_faults in each
of its system calls.
"""
import pathlib
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))

import harness  # noqa: E402
import records  # noqa: E402
from acking import UnixCollector  # noqa: E402
from harness import Recording, Workload  # noqa: E402

KILLS = 30 if harness.IS_LONG else 10
SPREAD_SECONDS = 0.3
# More than a slow machine can fill: then the oldest would be dropped, as it should.
SPOOL_MAX = "64G"
# Some 5,000 requests a second: a segment of 512 KiB is sealed every fifth of a second, and for what
# waits to be written to a disk that is busy for a while there is room in memory, 8 MiB. What finds
# none is dropped, and counted: that would be another test's.
COMMOTION = ("n = 0; Thread.new { loop { Correlator.with(request_id: (n += 1).to_s) "
             "{ 200.times { |i| i.hash } }; sleep(0.0001) } }; nil")


def numbers(entries):
    """(who, number) of each: a record_id ends in a running number."""
    return [(record["record_id"].rpartition(":")[0], int(record["record_id"].rpartition(":")[2]))
            for _, record in entries]


class KillTest(harness.LiveTest):
    def setUp(self):
        super().setUp()
        self.spool = self.folder / "spool"
        self.lock = threading.Lock()
        self.acks = threading.Event()
        self.arrived = {}  # who: {number: times}
        self.collector = UnixCollector(str(self.folder / "collector"), self.keep)
        self.serving = threading.Thread(target=self.collector.serve_forever, daemon=True)
        self.serving.start()
        self.addCleanup(self.collector.server_close)
        self.addCleanup(self.collector.shutdown)

    def keep(self, entries):
        self.acks.wait()
        with self.lock:
            for who, number in numbers(records.unpack_entries(entries)[0]):
                counts = self.arrived.setdefault(who, {})
                counts[number] = counts.get(number, 0) + 1

    def chunks(self):
        return set(self.spool.glob("*.chunks"))

    def spooled(self, *patterns):
        """{who: numbers} in files of the spool, read by msgpack as far as they are whole."""
        found = {}
        for pattern in patterns:
            for file in self.spool.glob(pattern):
                try:
                    data = file.read_bytes()
                except FileNotFoundError:
                    continue  # acked meanwhile
                for who, number in numbers(records.unpack_entries(data)[0] if data else []):
                    found.setdefault(who, set()).add(number)
        return found

    def test_what_was_sealed_is_there_or_has_arrived(self):
        workload = self.enter(Workload("driven.rb"))
        workload.evaluate(COMMOTION)
        sealed = left = 0
        for kill in range(KILLS):
            # Every second time nothing is acked: then there is more in the spool.
            self.acks.set() if kill % 2 else self.acks.clear()
            path = self.folder / f"{kill}.msgpack"
            chunks = self.chunks()
            with Recording(path, "-p", workload.pid, "-i", "10ms", "--forward", self.collector.url,
                           "--spool", self.spool, "--spool-max", SPOOL_MAX) as recording:
                if kill % 4 == 0:
                    harness.await_true(lambda: self.chunks() - chunks, "a sealed segment")
                time.sleep(SPREAD_SECONDS * kill / KILLS)
                sealed_before = self.spooled("*.chunks")
                recording.process.kill()
                recording.wait()
            self.acks.set()
            counts = self.check(path, sealed_before, kill)
            sealed, left = sealed + counts[0], left + counts[1]
            path.unlink()
        self.assertTrue(self.arrived and sealed and left, f"{len(self.arrived)} {sealed} {left}")
        self.drain()

    def check(self, path, sealed_before, kill):
        """What arrived and what is spooled has all that was sealed before the kill, and of this
        recording its first records without a hole. How many of it were sealed, and are left."""
        left = self.spooled("*.chunks", "*.part")
        with self.lock:
            arrived = {who: set(counts) for who, counts in self.arrived.items()}
        for who, found in sealed_before.items():
            self.assertEqual(set(), found - arrived.get(who, set()) - left.get(who, set()),
                             f"kill {kill}: sealed, and lost")
        entries = records.unpack_entries(path.read_bytes())[0] if path.stat().st_size else []
        if not entries:
            return 0, 0
        who = numbers(entries)[0][0]
        found = arrived.get(who, set()) | left.get(who, set())
        self.assertEqual(set(range(1, len(found) + 1)), found, f"kill {kill}: a hole")
        return len(sealed_before.get(who, ())), len(left.get(who, ()))

    def drain(self):
        """What is left goes out: then all that ever was in the spool has arrived, with no hole."""
        if self.spooled("*.chunks", "*.part"):
            result = harness.run_correlator("forward", self.spool, "--to", self.collector.url)
            self.assertEqual(harness.EXIT_OK, result.returncode, result.stderr)
        self.assertEqual({}, self.spooled("*.chunks", "*.part"))
        for who, counts in self.arrived.items():
            self.assertEqual(set(range(1, max(counts) + 1)), set(counts), f"a hole in {who}")


if __name__ == "__main__":
    harness.main()
