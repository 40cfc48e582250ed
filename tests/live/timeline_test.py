# SPDX-License-Identifier: GPL-2.0-only
"""`record --timeline`: slices say the same as the accounts do, and when it was."""
import collections
import itertools
import json

import harness
import records
from harness import Recording, Workload

KEYS = ("-k", "request_id", "-k", "endpoint")
# The sleep of fixtures/timeline.rb, and what may pass before it begins.
SLEEP_NS = 50_000_000
EDGE_NS = 1_000_000
# Of a thread's time that was stolen before it could run, there is no slice.
HOLE_NS = 100_000


def account_of(record):
    return record["pid"], record["tid"], record.get("request_id"), record.get("endpoint")


def by_accounts(found):
    """{(process, thread, keys): sums} of the cpu records."""
    sums = collections.defaultdict(collections.Counter)
    for record in records.of_kind(found, "cpu"):
        sums[account_of(record)].update(
            {name: record[name] for name in ("cpu_ns", "run_queue_ns", "blocked_ns",
                                             "uninterruptible_ns")})
    return {account: +sum for account, sum in sums.items() if +sum}


def by_slices(found):
    """The same of the slices."""
    sums = collections.defaultdict(collections.Counter)
    for piece in records.of_kind(found, "slice"):
        sum, length_ns = sums[account_of(piece)], piece["end_ns"] - piece["start_ns"]
        if piece["state"] == "running":
            sum["cpu_ns"] += piece["cpu_ns"]
        elif piece["state"] == "run_queue":
            sum["run_queue_ns"] += length_ns
        else:
            sum["blocked_ns"] += length_ns
            if piece["state"] == "uninterruptible":
                sum["uninterruptible_ns"] += length_ns
    return {account: +sum for account, sum in sums.items() if +sum}


def of_threads(found):
    """{(process, thread): its slices in the order of their time}"""
    threads = collections.defaultdict(list)
    for piece in records.of_kind(found, "slice"):
        threads[piece["pid"], piece["tid"]].append(piece)
    return {thread: sorted(pieces, key=lambda piece: (piece["start_ns"], piece["end_ns"]))
            for thread, pieces in threads.items()}


def stolen_ns(found, thread):
    return sum(record["stolen_ns"] for record in records.of_kind(found, "cpu")
               if (record["pid"], record["tid"]) == thread)


class TimelineTest(harness.LiveTest):
    def observe(self, script, *options):
        with Workload(script) as workload:
            before_ns = workload.cpu_ns()
            with Recording(self.output, "-p", workload.pid, *KEYS, *options) as recording:
                workload.run()
                self.growth_ns = workload.cpu_ns() - before_ns
                self.assert_ended_well(recording, recording.stop())
            return recording.records()

    def assert_is_one_after_the_other(self, found):
        """No two of a thread overlap, and what is between two was stolen."""
        for thread, pieces in of_threads(found).items():
            holes_ns = 0
            for one, next_one in itertools.pairwise(pieces):
                self.assertLessEqual(one["start_ns"], one["end_ns"])
                self.assertLessEqual(one["end_ns"], next_one["start_ns"], (one, next_one))
                holes_ns += next_one["start_ns"] - one["end_ns"]
            self.assertLessEqual(holes_ns, max(HOLE_NS, stolen_ns(found, thread)), thread)

    def check_sums(self, script, *options):
        found = self.observe(script, "--timeline", *options)
        self.assertEqual(0, records.books(found)["slices_lost"])
        self.assertGreater(len(by_accounts(found)), 30)
        self.assertEqual(by_accounts(found), by_slices(found))
        self.assert_is_one_after_the_other(found)
        return found

    def test_slices_of_threads_come_to_their_accounts_to_the_nanosecond(self):
        found = self.check_sums("threads.rb", "-i", "200ms")
        running = [piece for piece in records.of_kind(found, "slice")
                   if piece["state"] == "running"]
        for piece in running:
            self.assertEqual(piece["cpu_ns"], piece["user_ns"] + piece["kernel_ns"])
        cpu_count = records.of_kind(found, "meta")[0]["cpu_count"]
        self.assertLess(max(piece["cpu_number"] for piece in running), cpu_count)

    def test_so_do_those_of_fibers_which_change_in_the_middle_of_a_stint(self):
        self.check_sums("fibers.rb")

    def test_so_do_those_of_contexts_that_are_found_at_boundaries(self):
        self.check_sums("churn.rb", "--lean")

    def test_so_do_those_without_a_split(self):
        found = self.check_sums("threads.rb", "--no-kernel-split")
        self.assertFalse([piece for piece in records.of_kind(found, "slice")
                          if "user_ns" in piece])

    def observe_timeline(self):
        with Workload("timeline.rb", environment={"GROUND_TRUTH": "off"}) as workload:
            with Recording(self.output, "-p", workload.pid, *KEYS, "--timeline") as recording:
                workload.say("go")
                said = json.loads(workload.process.stdout.readline())
                self.assertEqual("done\n", workload.process.stdout.readline())
                self.assert_ended_well(recording, recording.stop())
            return said, recording.records()

    def test_who_sleeps_and_who_wakes_whom_is_seen(self):
        said, found = self.observe_timeline()
        self.assertEqual(0, records.books(found)["slices_lost"])
        self.check_sleep(said["sleeper"], found)
        self.check_wakes(said, found)

    def check_sleep(self, sleeper, found):
        (pieces,) = [pieces for (_, tid), pieces in of_threads(found).items()
                     if tid == sleeper["tid"]]
        inside = [piece for piece in pieces if piece.get("request_id") == "sleeper"
                  and piece["start_ns"] >= sleeper["from_ns"]
                  and piece["end_ns"] <= sleeper["to_ns"]]
        # The end of a window cuts it.
        slept = [piece for piece in inside if piece["state"] == "blocked"]
        self.assertGreaterEqual(sum(piece["end_ns"] - piece["start_ns"] for piece in slept),
                                SLEEP_NS - EDGE_NS, pieces)
        longest = max(slept, key=lambda piece: piece["end_ns"] - piece["start_ns"])
        # By the timer's interrupt: nobody.
        self.assertNotIn("woken_by_tid", pieces[pieces.index(longest) + 1])

    def check_wakes(self, said, found):
        pieces = of_threads(found)
        (pid, _), = {thread for thread in pieces if thread[1] == said["consumer"]["tid"]}
        wakers = collections.Counter()
        for one, next_one in itertools.pairwise(pieces[pid, said["consumer"]["tid"]]):
            if one["state"] == "blocked" and "woken_by_tid" in next_one:
                wakers[next_one["woken_by_pid"], next_one["woken_by_tid"]] += 1
        self.assertGreaterEqual(wakers[pid, said["producer"]["tid"]], 10, wakers)
        self.assertEqual((pid, said["producer"]["tid"]), wakers.most_common(1)[0][0])

    def test_what_finds_no_room_is_counted_and_the_accounts_are_exact_beside_it(self):
        found = self.observe("fibers.rb", "--timeline", "--timeline-bytes", "4K")
        sums = records.books(found)
        self.assertGreater(sums["slices_lost"], 1000)
        self.assertEqual([], records.unbalanced(found))
        self.assertAlmostEqual(sums["attributed_ns"] + sums["unattributed_ns"], self.growth_ns,
                               delta=records.BALANCE_PART * self.growth_ns)
        # What is there is right.
        accounts = by_accounts(found)
        for account, sum in by_slices(found).items():
            for name, ns in sum.items():
                self.assertLessEqual(ns, accounts[account][name], account)
        pieces = of_threads(found)
        for one, next_one in itertools.chain(*map(itertools.pairwise, pieces.values())):
            self.assertLessEqual(one["end_ns"], next_one["start_ns"])

    def test_what_has_no_account_is_flagged(self):
        found = self.observe("sequential.rb", "--timeline", "--accounts", "16")
        without = [piece for piece in records.of_kind(found, "slice")
                   if "overflow" in piece.get("flags", [])]
        self.assertEqual(records.books(found)["overflow_ns"],
                         sum(piece.get("cpu_ns", 0) for piece in without))
        self.assertTrue(all("request_id" not in piece for piece in without))

    def test_without_it_nothing_is_loaded_for_it(self):
        found = self.observe("threads.rb", "--measure")
        self.assertEqual([], records.of_kind(found, "slice"))
        self.assertEqual(0, records.books(found)["slices_lost"])
        self.assertNotIn("bpf_on_waking_runs", records.of_kind(found, "self")[-1])


if __name__ == "__main__":
    harness.main()
