# SPDX-License-Identifier: GPL-2.0-only
"""A process that means harm, watched together with an honest one.

fixtures/hostile.c publishes what no gem would, five threads at once, some hundred thousand times a
second. The honest process's requests must come out as it measures them itself, none of its time in
overflow; both books must balance; and what it costs us is bounded. Both have half a machine or
less, so times are compared as known_answers_test.py does.
"""
import subprocess

import law
from law import harness, records

ATTACKS = ("malformed", "values", "flipping", "ids", "symbols")
# By what each must show itself in the books.
COUNTERS = {"malformed": ("states_malformed", "states_unreadable"),
            "values": ("values_unreadable",), "ids": ("contexts_full",)}
# As overload_test.py: three windows of contexts and accounts in maps of the default size.
RSS_BOUND_BYTES = 160 << 20
# Of one CPU: decoding and writing what the maps hold, each window.
OWN_CPU_PART = 0.6
INTERVAL = "500ms"
# Of a value: 128 bytes, each as \\xNN, and the mark of one that was cut.
TEXT_MAX = 4 * 128 + 32


class HostileTest(law.LawTest):
    def hostile(self, *attacks):
        """A hostile process that has not begun."""
        process = self.enter(harness.Process([harness.BUILD / "fixtures/hostile", *attacks],
                                             text=True, stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE))
        self.assertEqual(f"ready {process.pid}\n", process.process.stdout.readline())
        return process

    def say(self, process, line):
        process.process.stdin.write(line)
        process.process.stdin.flush()

    def observe(self, *attacks, has_begun=False):
        """The honest process's truth, both pids, how many contexts were forged, the records."""
        honest = self.enter(harness.Workload("threads.rb"))
        hostile = self.hostile(*attacks)
        if has_begun:
            self.say(hostile, "\n")
        recording = self.record("-p", str(honest.pid), "-p", str(hostile.pid), "-i", INTERVAL)
        if not has_begun:
            self.say(hostile, "\n")
        truth = honest.run()
        self.say(hostile, "q\n")
        turns = int(hostile.process.stdout.readline())
        # Its threads are joined a moment before they are gone.
        law.schedstat(hostile.pid)
        return truth, honest.pid, hostile.pid, turns, self.finish(recording)

    def check(self, *attacks, **options):
        truth, honest, hostile, turns, found = self.observe(*attacks, **options)
        seconds = sum(record["window_ns"] for record in records.of_kind(found, "self")) / 1e9
        print(f"{attacks}: {turns / seconds:.0f} forged contexts a second, "
              f"{law.losses(self.books(found, hostile))}", flush=True)
        self.check_honest(truth, honest, found)
        sums = self.books(found, hostile)
        for attack in attacks:
            for counter in COUNTERS.get(attack, ()):
                self.assertGreater(sums[counter], 0, counter)
        self.check_cost(found, seconds)
        return [record for record in records.of_kind(found, "cpu") if record["pid"] == hostile]

    def books(self, found, pid):
        return self.assert_balanced([record for record in found if record["pid"] == pid], pid)

    def check_honest(self, truth, pid, found):
        sums = self.books(found, pid)
        mine = [record for record in found if record["pid"] == pid]
        self.assertEqual([], records.wrong_requests(truth, records.totals_by(mine), mine), sums)
        self.assertEqual(0, sums["overflow_ns"])
        self.assertEqual({}, {name: count for name, count in law.losses(sums).items()
                              if name != "switches_unseen"})

    def check_cost(self, found, seconds):
        own = records.of_kind(found, "self")
        rss = [record["own_rss_bytes"] for record in own]
        cpu_ns = sum(record["own_cpu_ns"] for record in own)
        print(f"{max(rss) >> 20} MiB, {cpu_ns / seconds / 1e7:.0f} % of a CPU", flush=True)
        self.assertLess(max(rss), RSS_BOUND_BYTES)
        self.assertLess(cpu_ns / 1e9, OWN_CPU_PART * seconds)

    def test_one_attack_at_a_time(self):
        for attack in ATTACKS:
            with self.subTest(attack):
                self.check(attack)

    def test_all_attacks_at_once(self):
        for record in self.check(*ATTACKS):
            self.assertLess(len(record.get("request_id", "")), TEXT_MAX)

    def test_attacks_that_have_begun_before(self):
        """The symbol table is found in a moment in which it is one, or not at all."""
        self.check("symbols", "flipping", has_begun=True)


if __name__ == "__main__":
    law.main()
