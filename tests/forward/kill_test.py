#!/usr/bin/python3
"""kill -9 of Correlator, 100 times, while it streams with a spool: nothing that was sealed is lost.

The n-th kill comes n/KILLS of SPREAD_SECONDS after it says that it observes. That is no
synchronisation: each instant must do. It takes a minute, most of which is attaching 100 times.
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

KILLS = 100
SPREAD_SECONDS = 0.3
NS = 1_000_000_000
# A segment is sealed a second after its first record, or five while others wait before it; what is
# open is written as it comes. So the end of the file that did not make it to the spool is this young,
# by the records' own times, on a machine that is busy with other things, too.
UNSEALED_NS = 1 * NS


def numbers(entries):
    """(who, number) of each: a record_id ends in a running number."""
    return [(record["record_id"].rpartition(":")[0], int(record["record_id"].rpartition(":")[2]))
            for _, record in entries]


class KillTest(harness.LiveTest):
    def setUp(self):
        super().setUp()
        self.spool = self.folder / "spool"
        self.lock = threading.Lock()
        self.arrived = {}  # who: {number: times}
        self.collector = UnixCollector(str(self.folder / "collector"), self.keep)
        self.serving = threading.Thread(target=self.collector.serve_forever, daemon=True)
        self.serving.start()
        self.addCleanup(self.collector.server_close)
        self.addCleanup(self.collector.shutdown)

    def keep(self, entries):
        with self.lock:
            for who, number in numbers(records.unpack_entries(entries)[0]):
                counts = self.arrived.setdefault(who, {})
                counts[number] = counts.get(number, 0) + 1

    def spooled(self, who):
        """Numbers in the spool, read by msgpack as far as they are whole."""
        found = set()
        for file in list(self.spool.glob("*.chunk")) + list(self.spool.glob("*.open")):
            entries = records.unpack_entries(file.read_bytes())[0] if file.stat().st_size else []
            found |= {number for writer, number in numbers(entries) if writer == who}
        return found

    def commotion(self, workload):
        workload.evaluate("Thread.new { loop { Correlator.with(request_id: rand(1000).to_s) "
                          "{ 2000.times { |i| i.hash }; sleep 0.001 } } }; nil")

    def test_what_was_sealed_is_there_or_has_arrived(self):
        workload = self.enter(Workload("driven.rb"))
        self.commotion(workload)
        streamed = left = 0
        for kill in range(KILLS):
            path = self.folder / f"{kill}.msgpack"
            with Recording(path, "-p", workload.pid, "-i", "10ms", "--forward", self.collector.url,
                           "--spool", self.spool) as recording:
                time.sleep(SPREAD_SECONDS * kill / KILLS)
                recording.process.kill()
                recording.wait()
            arrived, spooled = self.check(path, kill)
            streamed += arrived
            left += spooled
            path.unlink()
        self.drain()
        self.assertGreater(streamed + left, KILLS)
        self.assertTrue(left)
        for who, counts in self.arrived.items():
            self.assertEqual(set(range(1, max(counts) + 1)), set(counts), f"a hole in {who}")

    def check(self, path, kill):
        """What arrived of this recording, and what is spooled, are its first records, all of
        them but for the youngest."""
        entries = records.unpack_entries(path.read_bytes())[0]
        if not entries:
            return 0, 0
        who = numbers(entries)[0][0]
        spooled = self.spooled(who)
        with self.lock:
            arrived = set(self.arrived.get(who, ()))
        found = arrived | spooled
        self.assertEqual(set(range(1, len(found) + 1)), found, f"kill {kill}: a hole")
        times = [int.from_bytes(entry[0].data[:4], "big") * NS +
                 int.from_bytes(entry[0].data[4:], "big") for entry in entries]
        missing = times[len(found):]
        if missing:
            self.assertLess(times[-1] - missing[0], UNSEALED_NS, f"kill {kill}")
        return len(arrived), len(spooled)

    def drain(self):
        """What is left goes out, and all that ever was in the spool has arrived."""
        if list(self.spool.glob("*.chunk")) + list(self.spool.glob("*.open")):
            result = harness.run_correlator("forward", self.spool, "--to", self.collector.url)
            self.assertEqual(harness.EXIT_OK, result.returncode, result.stderr)
        self.assertEqual([], list(self.spool.glob("*.chunk")) + list(self.spool.glob("*.open")))


if __name__ == "__main__":
    harness.main()
