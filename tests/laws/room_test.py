# SPDX-License-Identifier: GPL-2.0-only
"""The room of the kernel's maps: who takes all that can be had leaves some for the others, however
many processes it is, and when it has ended, nothing is left in them.

The maps are those of the running recording, as bpftool shows them.
"""
import json
import subprocess

import law
from ends_test import kernel_objects
from hostile_test import Hostile
from law import harness, records

INTERVAL = "300ms"
PROCESSES_MAX = 4096


def bpftool(*arguments):
    return json.loads(subprocess.run(["bpftool", "-j", *arguments], check=True,
                                     stdout=subprocess.PIPE).stdout)


class Room:
    """What a recording's maps hold."""

    def __init__(self, recording):
        self.ids = {}
        for kind, number in kernel_objects(recording.pid):
            if kind == "map":
                found = bpftool("map", "show", "id", str(number))
                self.ids[found["name"]] = found["id"]

    def count(self, name):
        return len(bpftool("map", "dump", "id", str(self.ids[name])))

    def shares(self, name):
        """By the families' numbers, what each holds of it, as the kernel programs count."""
        values = bpftool("map", "dump", "id", str(self.ids["correlat.bss"]))
        section = values[0]["formatted"]["value"][".bss"]
        table = next(each[name] for each in section if name in each)
        held = {number: held for number, held in enumerate(table["used_by"]) if held}
        assert sum(held.values()) == table["used"], (name, held, table["used"])
        return held


class RoomTest(law.LawTest):
    def hostile(self, *attacks):
        return self.enter(Hostile(*attacks))

    def assert_empty_in_the_end(self, room, name, left=0):
        """Two windows after the last account that named it a context is taken out."""
        harness.await_true(lambda: room.count(name) == left and
                           sum(room.shares(f"{name}_share").values()) == left,
                           f"{left} left in {name}")

    def test_more_children_than_there_is_room_for(self):
        """The family has three quarters of the room at most, and others fork as before."""
        honest = self.workload("laws.rb")
        hostile = self.hostile("processes")
        recording = self.record("-p", str(honest.pid), "-p", str(hostile.pid), "-i", INTERVAL)
        room = Room(recording)
        before = room.count("processes")
        hostile.begin()
        hostile.await_line("has 4500 children")
        self.assertLess(room.count("processes"), PROCESSES_MAX * 4 // 5)
        self.assertEqual(50, honest.evaluate("Laws.forks(50, 2)"))
        hostile.finish()
        self.assert_empty_in_the_end(room, "processes", before)
        self.assertEqual(before, room.count("books"))
        found = self.finish(recording)
        sums = self.assert_balanced(found)
        self.assertGreater(sums["processes_full"], 0)
        mine = records.books(found, honest.pid)
        self.assertEqual((0, 0), (mine["processes_full"], mine["overflow_ns"]), mine)
        self.assertLessEqual({f"child-{number}" for number in range(50)},
                             {record.get("request_id") for record in records.of_kind(found, "cpu")})

    def check_contexts(self, *arguments, attacks=("ids",)):
        """Contexts come, find room or none, and go with their process."""
        honest = self.workload("laws.rb")
        hostile = self.hostile(*attacks)
        recording = self.record("-p", str(honest.pid), "-p", str(hostile.pid), "-i", INTERVAL,
                                *arguments)
        room = Room(recording)
        hostile.begin()
        honest.evaluate("Laws.requests(1, 500)")
        self.assertEqual(20, honest.evaluate("Laws.forks(20, 1)"))
        hostile.finish()
        self.assert_empty_in_the_end(room, "contexts")
        found = self.finish(recording)
        return self.assert_balanced(found)

    def test_contexts_of_all_kinds_leave_no_snapshot_behind(self):
        self.check_contexts(attacks=("malformed", "values", "flipping", "ids", "symbols"))

    def test_nor_do_those_whose_accounts_find_no_room(self):
        sums = self.check_contexts("--accounts", "16")
        self.assertGreater(sums["accounts_full"], 0)

    def test_nor_those_that_find_none_themselves(self):
        sums = self.check_contexts("--contexts", "16")
        self.assertGreater(sums["contexts_full"], 0)

    def test_nor_without_probes(self):
        self.check_contexts("--lean", "--accounts", "64")


if __name__ == "__main__":
    law.main()
