# SPDX-License-Identifier: GPL-2.0-only
"""A year of a machine in short: very many processes and files that come and go, and no growth.

YEAR_PROCESSES=1000000 and YEAR_FILES=10000 are a year; without them it is as much as takes a minute.
"""
import os
import re
import shutil
import subprocess
import threading

import msgpack

import soak_path  # noqa: F401
import harness
from finding import FindingRecording
from holdings import Holdings, await_holdings
from ledger import Ledger
from libc_test import FAKES, FakeRuby

PROCESSES = int(os.environ.get("YEAR_PROCESSES", "20000"))
FILES = int(os.environ.get("YEAR_FILES", "300"))
PARENTS = 2
# fixtures/fake_ruby.c
CALLS_OF_CHILD = 20
CALLS = 2000
# Of a tenth of them and of all: windows differ in how many end in one.
RSS_GROWTH_BYTES = 4 << 20


class Stream(threading.Thread):
    """Takes what a recording writes to its standard output into a ledger."""

    def __init__(self, stream):
        super().__init__(daemon=True)
        self.stream = stream
        self.ledger = Ledger(keeps_ids=False)
        self.start()

    def run(self):
        unpacker = msgpack.Unpacker(raw=False, strict_map_key=False)
        while data := self.stream.read1(1 << 20):
            unpacker.feed(data)
            self.ledger.take_from(unpacker)


class YearTest(harness.LiveTest):
    def record(self, *arguments):
        recording = self.enter(FindingRecording("-", *arguments, "-i", "200ms", stdout=subprocess.PIPE))
        return recording, Stream(recording.process.stdout.buffer)

    def finish(self, recording, stream):
        self.assert_ended_well(recording, recording.stop())
        stream.join(harness.DEADLINE_SECONDS)
        ledger = stream.ledger
        rss = [record["own_rss_bytes"] for record in ledger.own]
        print(f"{len(rss)} windows, {dict(ledger.events)}, {max(rss) >> 20} MiB, the worst balance "
              f"{100 * ledger.worst_part:.4f} % off", flush=True)
        self.assertEqual([], ledger.unbalanced[:5], len(ledger.unbalanced))
        self.assertLess(max(rss), max(rss[:1 + len(rss) // 10]) + RSS_GROWTH_BYTES)
        return ledger

    def check_calls(self, ledger, names, calls):
        """Each has its own, and there is none like it; a machine may have other Rubies, too."""
        wrong = {name: ledger.calls.get(name) for name in names if ledger.calls.get(name) != calls}
        self.assertEqual({}, dict(list(wrong.items())[:20]), len(wrong))
        like = {name for name in ledger.calls if name and re.fullmatch(r"[cf]\d+-\d+", name)}
        self.assertEqual(set(names), like)

    def test_processes_come_and_go(self):
        parents = [self.enter(FakeRuby("glibc_inside")) for _ in range(PARENTS)]
        recording, stream = self.record(*(word for parent in parents for word in ("-p", parent.pid)))
        start = Holdings(recording.pid)
        count = PROCESSES // PARENTS
        for number, parent in enumerate(parents):
            parent.say(f"children c{number} {count}")
        for parent in parents:
            self.assertEqual("done\n", parent.process.stdout.readline())
        print(f"began with {start}, ends with {await_holdings(recording.pid, start.counts)}")
        harness.await_true(lambda: stream.ledger.own[-1]["processes"] == PARENTS,
                           "the room of all that ended to be free")
        ledger = self.finish(recording, stream)
        self.check_calls(ledger, [f"c{parent}-{number}" for parent in range(PARENTS)
                                  for number in range(count)], CALLS_OF_CHILD)
        self.assertEqual((PARENTS * count,) * 2, (ledger.events["fork"], ledger.events["exit"]))

    def test_files_come_and_go(self):
        """Each is a Ruby of its own with a library of its own, which are deleted as it serves."""
        recording, stream = self.record("--all-ruby")
        self.release(recording, 0)
        harness.await_true(lambda: not any("/release-" in kind for kind in
                                           Holdings(recording.pid).counts), "its files' release")
        start = Holdings(recording.pid)
        for number in range(1, FILES):
            self.release(recording, number)
        print(f"began with {start}, ends with {await_holdings(recording.pid, start.counts)}")
        ledger = self.finish(recording, stream)
        self.check_calls(ledger, [f"f{number}-0" for number in range(FILES)], CALLS)

    def release(self, recording, number):
        release = self.folder / f"release-{number}"
        release.mkdir()
        ruby = shutil.copy(FAKES / "glibc_loads", release / "ruby")
        library = shutil.copy(FAKES / "glibc_library.so", release / "publisher.so")
        with FakeRuby(ruby) as fake:
            fake.obey(f"load {library}")
            recording.await_found(fake.pid)
            shutil.rmtree(release)
            fake.obey(f"main f{number} 1")


if __name__ == "__main__":
    harness.main()
