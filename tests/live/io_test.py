# SPDX-License-Identifier: GPL-2.0-only
"""record --io: what each request read and wrote, by file and peer, against what it says that it moved."""
import collections
import json
import socket
import threading

import harness
import records
from harness import Recording, Workload

NUMBERS = "io_calls", "in_bytes", "out_bytes"


class IoWorkload(Workload):
    """fixtures/io.rb, which says what it moved, and how long it waited, before its CPU."""

    def run(self):
        self.say("go")
        moved = None
        for line in self.process.stdout:
            if line == "done\n":
                return moved
            said = json.loads(line)
            moved = moved if "request_id" in said else said
        raise RuntimeError("the workload ended in the middle")


def name_of(record):
    return " ".join(filter(None, (record["io_on"], "accepted" if record.get("accepted") else "", record.get("peer"))))


def moved_by(found, *fields):
    """{values of the fields: {what on: [calls, in_bytes, out_bytes]}}"""
    sums = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0, 0]))
    for record in records.of_kind(found, "io"):
        key = tuple(record.get(field) for field in fields)
        numbers = sums[key if len(fields) > 1 else key[0]][name_of(record)]
        for i, field in enumerate(NUMBERS):
            numbers[i] += record[field]
    return sums


class IoTest(harness.LiveTest):
    REQUESTS = 6 * 3 + 10 + 2  # of fixtures/io.rb

    def observe(self, *options):
        with IoWorkload("io.rb", self.folder) as workload:
            with Recording(self.output, "-p", workload.pid, "-k", "request_id", "-k", "endpoint", "--io", "-i", "100ms",
                           *options) as recording:
                moved = workload.run()
                self.assert_ended_well(recording, recording.stop())
            self.waited = moved["waited"]
            return moved["moved"], recording.records()

    def lost(self, found):
        """The number of calls that no record need have: counted as lost, or the kernel left out our program at their exit,
        as Linux 7 does on a CPU where it interrupted it."""
        skipped = sum(record.get("programs_skipped", 0) for record in records.of_kind(found, "self"))
        return records.books(found)["io_lost"] + skipped

    def assert_moved(self, moved, found):
        got, lost, missing = moved_by(found, "request_id"), self.lost(found), {}
        for request, peers in moved.items():
            # Ruby's own, by which it wakes its threads.
            got[request].pop("other", None)
            for peer in peers | got[request]:
                has = got[request].get(peer, [0, 0, 0])
                if peers.get(peer) != has:
                    missing[request, peer] = [whole - part for whole, part in zip(peers.get(peer, [0, 0, 0]), has)]
        self.assertEqual({}, {what: numbers for what, numbers in missing.items() if min(numbers) < 0})
        self.assertLessEqual(sum(numbers[0] for numbers in missing.values()), lost, missing)
        # One moves nothing but its connect().
        self.assertEqual(self.REQUESTS - 1, len(moved))
        self.assertEqual([], records.unbalanced(found))

    def test_requests_of_threads_and_fibers_have_what_they_moved(self):
        moved, found = self.observe()
        self.assert_moved(moved, found)
        # The other ends of these connections are in no context; the bytes of lost calls are missing there.
        outside = moved_by(found, "request_id")[""]
        compare = self.assertGreaterEqual if self.lost(found) else self.assertEqual
        for kind in "tcp", "unix":
            asked = collections.Counter()
            for peers in moved.values():
                for peer, numbers in peers.items():
                    if peer.startswith(kind + " ") and "to_many" not in peer:
                        asked["in"] += numbers[1]
                        asked["out"] += numbers[2]
            answered = [numbers for name, numbers in outside.items() if name.startswith(f"{kind} accepted")]
            compare(asked["out"], sum(numbers[1] for numbers in answered))
            compare(asked["in"], sum(numbers[2] for numbers in answered))

    def test_connects_and_answers_of_dns_take_as_long_as_they_did(self):
        _, found = self.observe()
        waits = collections.defaultdict(lambda: [0, 0])
        for record in records.of_kind(found, "io"):
            for count, ns in ("connects", "connect_ns"), ("answers", "answer_ns"):
                if record.get(count):
                    waits[record["request_id"], name_of(record)][0] += record[count]
                    waits[record["request_id"], name_of(record)][1] += record[ns]
        self.assertEqual({"from_dns-0", "to_a_full_server-0"}, self.waited.keys())
        for request, peers in self.waited.items():
            for peer, (count, least_ns, most_ns) in peers.items():
                self.assertEqual(count, waits[request, peer][0], (request, peer))
                self.assertLessEqual(least_ns, waits[request, peer][1], (request, peer))
                self.assertLessEqual(waits[request, peer][1], most_ns, (request, peer))
        self.assertEqual(1, waits["over_tcp-0", next(peer for request, peer in waits if request == "over_tcp-0")][0])

    def test_so_it_is_with_everything_else(self):
        moved, found = self.observe("--syscalls", "--timeline", "--stall=1ms")
        self.assert_moved(moved, found)

    def test_so_it_is_without_probes(self):
        moved, found = self.observe("--lean")
        self.assertEqual(0, records.books(found)["io_lost"])
        # What a fiber does until the next boundary after the change may be the other's.
        got = moved_by(found, "request_id")
        for request in ("in_a_file-0", "over_tcp-0", "over_unix-0", "to_many-0"):
            got[request].pop("other", None)
            self.assertEqual(moved[request], dict(got[request]), request)

    def test_the_report_has_all_of_it(self):
        moved, found = self.observe()
        report = json.loads(harness.run_correlator("report", "--io", "--by", "request_id", "-f", "json",
                                                   self.output).stdout)
        groups = {group.get("request_id"): group for group in report["groups"] if group["row"] == "group"}
        for request, peers in moved.items():
            rows = {name_of(row): [row[field] for field in NUMBERS] for row in groups[request]["on"]}
            rows.pop("other", None)
            self.assertEqual(peers, rows, request)
        for field in NUMBERS:
            self.assertEqual(sum(record[field] for record in records.of_kind(found, "io")), report["total"][field])

    def test_without_the_option_there_are_no_records(self):
        with IoWorkload("io.rb", self.folder) as workload, Recording(self.output, "-p", workload.pid) as recording:
            workload.run()
            self.assert_ended_well(recording, recording.stop())
        self.assertEqual([], records.of_kind(recording.records(), "io"))


if __name__ == "__main__":
    harness.main()
