# SPDX-License-Identifier: GPL-2.0-only
"""A process that means harm, watched together with an honest one.

fixtures/hostile.c publishes what no gem would, five threads at once, some hundred thousand times a
second. The honest process's requests must come out as it measures them itself, none of its time in
overflow; both books must balance; and what it costs us is bounded. Both have half a machine or
less, so times are compared as known_answers_test.py does.
"""
import contextlib
import os
import pathlib
import subprocess
import time
import unittest

import law
from law import harness, records

ATTACKS = ("malformed", "values", "flipping", "ids", "symbols")
# By what each must show itself in the books.
COUNTERS = {"malformed": ("states_malformed", "states_unreadable"),
            "values": ("values_unreadable",), "ids": ("contexts_full",),
            "texts": ("values_late",), "foreign": ("values_unreadable",)}
# What says when it has begun.
SAID = {"withheld", "asleep", "unanswered", "foreign"}
# As overload_test.py: three windows of contexts and accounts in maps of the default size.
RSS_BOUND_BYTES = 160 << 20
# Of one CPU: decoding and writing what the maps hold, each window.
OWN_CPU_PART = 0.8
# With what little there is to write: 0.25 s of looks at once, and 5 % from then on, of a CPU of usual speed;
# on one whose forks and page faults took three times as long it was 0.31 in all.
LOOKS_PART = 0.4
INTERVAL = "500ms"
MODULES = ("--timeline", "--syscalls", "--io", "--stall=100us", "--stacks=99,off-cpu", "--native-stacks=full")
MODULES_CPU_PART = 1.0
# The honest process may have these: switches that are written up from both sides, a sampling clock that met held books,
# names that were missing in the first moments. None of them loses time.
ALLOWED = {"switches_unseen", "samples_lost", "frames_unreadable", "frames_early", "native_unnamed"}
# Nor do these: slices and stalls are told one by one, through rings that a reader without a CPU may find full, and
# a method that such a reader comes to after several collections of garbage may be another one by then.
LOST_BY_MODULES = {"slices_lost", "stalls_lost", "frames_collected"}
# So few that a slow machine, too, makes more of them in the four windows that they are kept for.
FEW_CONTEXTS = "--contexts", "4096"
# Of a value: 128 bytes, each as \\xNN, and the mark of one that was cut.
TEXT_MAX = 4 * 128 + 32

NEEDS_FUSE = unittest.skipUnless(os.access("/dev/fuse", os.R_OK | os.W_OK), "no /dev/fuse")


class Hostile(harness.Process):
    """A hostile process that has not begun."""

    def __init__(self, *attacks):
        super().__init__([harness.BUILD / "fixtures/hostile", *attacks], text=True,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.await_line(f"ready {self.pid}")

    def await_line(self, line):
        said = self.process.stdout.readline()
        assert said == f"{line}\n", said

    def say(self, line):
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def begin(self):
        self.say("\n")

    def finish(self):
        """How many contexts it has forged; its threads are gone, or about to be."""
        self.say("q\n")
        return int(self.process.stdout.readline())


def states_of_session(session):
    """[state] of its living processes, whoever is their parent by now."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            state, _, _, its_session = path.read_text().rpartition(")")[2].split()[:4]
            if int(its_session) == session and state not in "ZX":
                found.append(state)
    return found


class HostileTest(law.LawTest):
    def observe(self, *attacks, arguments=(), has_begun=False):
        """The honest process's truth, both pids, how many contexts were forged, the records."""
        honest = self.enter(harness.Workload("threads.rb"))
        hostile = self.enter(Hostile(*attacks))
        if has_begun:
            hostile.begin()
            for attack in sorted(SAID.intersection(attacks)):
                hostile.await_line(attack)
        recording = self.record("-p", str(honest.pid), "-p", str(hostile.pid), "-i", INTERVAL,
                                *arguments, start_new_session=True)
        if not has_begun:
            hostile.begin()
        truth = honest.run()
        turns = hostile.finish()
        # Its threads are joined a moment before they are gone.
        law.schedstat(hostile.pid)
        # Who waited for what does not come would never end: the deadline is finish()'s.
        found = self.finish(recording)
        self.messages = recording.messages
        self.recording, self.hostile = recording, hostile
        return truth, honest.pid, hostile.pid, turns, found

    def check(self, *attacks, own_cpu_part=OWN_CPU_PART, allowed=ALLOWED, **options):
        truth, honest, hostile, turns, found = self.observe(*attacks, **options)
        seconds = sum(record["window_ns"] for record in records.of_kind(found, "self")) / 1e9
        print(f"{attacks}: {turns / seconds:.0f} forged contexts a second, "
              f"{law.losses(self.books(found, hostile))}", flush=True)
        self.check_honest(truth, honest, found, allowed)
        self.check_cost(found, seconds, own_cpu_part)
        sums = self.books(found, hostile)
        # Beside all others it may have no CPU to make more contexts than there is room for.
        for attack in set(attacks) - ({"ids"} if len(attacks) > 1 else set()):
            for counter in COUNTERS.get(attack, ()):
                self.assertGreater(sums[counter], 0, counter)
        return [record for record in records.of_kind(found, "cpu") if record["pid"] == hostile]

    def books(self, found, pid):
        return self.assert_balanced([record for record in found if record["pid"] == pid], pid)

    def check_honest(self, truth, pid, found, allowed):
        sums = self.books(found, pid)
        mine = [record for record in found if record["pid"] == pid]
        self.assertEqual([], records.wrong_requests(truth, records.totals_by(mine), mine), sums)
        self.assertEqual(0, sums["overflow_ns"])
        self.assertEqual({}, {name: count for name, count in law.losses(sums).items()
                              if name not in allowed})

    def check_cost(self, found, seconds, own_cpu_part):
        own = records.of_kind(found, "self")
        rss = [record["own_rss_bytes"] for record in own]
        cpu_ns = sum(record["own_cpu_ns"] for record in own)
        runs, spent_ns = (sum(record.get(f"bpf_on_sched_switch_{field}", 0) for record in own)
                          for field in ("runs", "ns"))
        if runs:
            print(f"{spent_ns / runs:.0f} ns a switch, {runs / seconds:.0f} a second", flush=True)
        print(f"{max(rss) >> 20} MiB, {cpu_ns / seconds / 1e7:.0f} % of a CPU", flush=True)
        self.assertLess(max(rss), RSS_BOUND_BYTES)
        self.assertLess(cpu_ns / 1e9, own_cpu_part * seconds)

    def test_one_attack_at_a_time(self):
        for attack in ATTACKS:
            with self.subTest(attack):
                self.check(attack, arguments=FEW_CONTEXTS if attack == "ids" else ())

    def test_all_attacks_at_once(self):
        for record in self.check(*ATTACKS):
            self.assertLess(len(record.get("request_id", "")), TEXT_MAX)

    def test_all_attacks_with_all_modules(self):
        self.check(*ATTACKS, arguments=MODULES, own_cpu_part=MODULES_CPU_PART,
                   allowed=ALLOWED | LOST_BY_MODULES)

    def test_long_values_at_each_switch(self):
        """They are read under the run queue's lock, a hundredth of a CPU's time at most."""
        keys = ["-krequest_id"] + [f"-kkey_{number}" for number in range(1, 8)]
        self.check("texts", arguments=[*keys, "--budget", "100"])

    def test_objects_that_come_and_go(self):
        """Each is a reason to look at the process again."""
        self.check("loading", own_cpu_part=LOOKS_PART)

    def test_children_that_come_and_go(self):
        for attack in "forking", "executing":
            with self.subTest(attack):
                self.check(attack)

    def test_a_publisher_that_comes_and_goes(self):
        """What is to be read where changes each time."""
        self.check("alternating", own_cpu_part=LOOKS_PART)

    def test_a_symbol_table_that_never_comes(self):
        """What reads it is given up, once, and all else goes on."""
        self.check("withheld", has_begun=True)
        self.assertEqual(1, self.messages.count("given up"), self.messages)

    def await_session(self, states):
        """What the recording has left behind; what it killed at its end may take a moment to go."""
        harness.await_true(lambda: states_of_session(self.recording.pid) == states,
                           f"what is left of the recording to be {states}")

    @NEEDS_FUSE
    def test_a_symbol_table_in_a_file_on_fuse_that_never_answers(self):
        """What reads it cannot even be killed: nothing waits for that, and it goes with the file."""
        self.check("unanswered", has_begun=True)
        self.assertEqual(1, self.messages.count("given up"), self.messages)
        self.await_session(["D"])
        # Its end is that of the FUSE connection.
        self.hostile.process.stdin.close()
        self.assertEqual(0, self.hostile.wait())
        self.await_session([])

    @NEEDS_FUSE
    def test_a_value_in_a_users_own_file_on_fuse(self):
        """The kernel programs wait for no page, and we may not open the file: nothing waits."""
        self.check("foreign", has_begun=True)
        self.await_session([])

    def test_a_sleeping_thread_whose_memory_never_comes(self):
        self.check("asleep", has_begun=True)

    def test_attacks_that_have_begun_before(self):
        """The symbol table is found in a moment in which it is one, or not at all."""
        self.check("symbols", "flipping", has_begun=True)


if __name__ == "__main__":
    law.main()
