# SPDX-License-Identifier: GPL-2.0-only
"""What it costs an honest process that a hostile one is watched beside it: a tenth at most.

The honest one does the same piece of work over and over, most of it what makes our programs run,
and measures its own CPU time. It is observed all the time, and the attack goes on all the time; whether
the hostile process is observed, too, is all that differs, turn by turn. Of each side the minimum
counts: what the machine does besides can only add to it.

The honest process has a CPU of its own. Two CPUs may be one core, where work is a quarter dearer while
the other one is busy: so the other ones always are.
"""
import os
import sys

import hostile_test
import law
from law import records

ON_FUSE = ("unanswered", "foreign")
ATTACKS = (*hostile_test.ATTACKS, "texts", "loading", "withheld", "asleep", "forking",
           "executing", "alternating")
COST_PART = 1.1
# As long as the bound is exceeded.
ROUNDS_MAX = 10
PIECES = 50
FIBERS = 10
CALLS = 250 # of a fiber
WORK = f"""
def clock_ns() = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)
def piece(name)
  before = clock_ns
  fibers = Array.new({FIBERS}) do |number|
    Fiber.new do
      Correlator.with(request_id: name + number.to_s) do
        25.times {{ 10.times {{ Process.ppid }}; Fiber.yield }}
        sleep 0.0001
      end
    end
  end
  26.times {{ fibers.each(&:resume) }}
  clock_ns - before
end
"""
NAMES = {f"r{number}" for number in range(FIBERS)}


class Idler(law.Process):
    """Keeps a CPU busy whenever nobody else wants it."""

    def __init__(self, cpu):
        super().__init__([sys.executable, "-c", "while True: pass"])
        os.sched_setaffinity(self.pid, {cpu})
        os.sched_setscheduler(self.pid, os.SCHED_IDLE, os.sched_param(0))


class HostileCostTest(law.LawTest):
    def setUp(self):
        super().setUp()
        self.honest = self.workload()
        self.part_cpus()
        self.honest.evaluate("; ".join(["GC.disable", *WORK.strip().split("\n")]))
        self.pieces()

    def part_cpus(self):
        """The last one for the honest process, the others for all else."""
        *others, last = sorted(os.sched_getaffinity(0))
        if others:
            self.addCleanup(os.sched_setaffinity, 0, {*others, last})
            os.sched_setaffinity(0, others)
            for tid in os.listdir(f"/proc/{self.honest.pid}/task"):
                os.sched_setaffinity(int(tid), {last})
            for cpu in others:
                self.enter(Idler(cpu))

    def pieces(self):
        """CPU ns of the cheapest."""
        return self.honest.evaluate(f"GC.start; Array.new({PIECES}) {{ piece('r') }}.min")

    def observed_pieces(self, *others):
        """The same, observed together with others."""
        pids = [word for pid in (self.honest.pid, *others) for word in ("-p", str(pid))]
        with law.Recording(self.output, "--force", *pids) as recording:
            cost = self.pieces()
            found = self.finish(recording)
        self.assertLessEqual(NAMES, set(records.totals_by(found, pid=self.honest.pid)))
        self.assert_exact(found)
        self.assertLessEqual({self.honest.pid, *others},
                             {record["pid"] for record in records.of_kind(found, "process")})
        return cost

    def assert_exact(self, found):
        """All of the work was observed, as closely as can be: nothing is cheap for want of that."""
        self.assertEqual({("exact", True)}, {(meta["mode"], meta["kernel_split"])
                                             for meta in records.of_kind(found, "meta")})
        totals = records.totals_by(found, pid=self.honest.pid)
        self.assertGreaterEqual(sum(totals[name]["syscalls"] for name in NAMES),
                                PIECES * FIBERS * CALLS)

    def check(self, attack):
        with hostile_test.Hostile(attack) as hostile:
            hostile.begin()
            if attack in hostile_test.SAID:
                hostile.await_line(attack)
            rounds, is_cheap = [], False
            while not is_cheap and len(rounds) < ROUNDS_MAX:
                rounds.append(self.both_ways(hostile.pid, len(rounds)))
                watched, unwatched = map(min, zip(*rounds))
                is_cheap = watched <= COST_PART * unwatched
        said = (f"{attack}: {watched / 1e6:.2f} ms, {unwatched / 1e6:.2f} ms if it is not watched: "
                f"{watched / unwatched:.3f} after {len(rounds)} rounds")
        print(said, flush=True)
        self.assertTrue(is_cheap, said)

    def both_ways(self, hostile, number):
        """CPU ns with the hostile process observed and without; who is first takes turns."""
        if number % 2:
            return self.observed_pieces(hostile), self.observed_pieces()
        return tuple(reversed((self.observed_pieces(), self.observed_pieces(hostile))))

    def test_each_attack(self):
        for attack in ATTACKS:
            with self.subTest(attack):
                self.check(attack)

    @hostile_test.NEEDS_FUSE
    def test_each_attack_on_fuse(self):
        for attack in ON_FUSE:
            with self.subTest(attack):
                self.check(attack)

    def test_the_measure_sees_what_watching_costs(self):
        """Being observed oneself costs more than the bound: it would be seen."""
        alone, observed = map(min, zip(*((self.pieces(), self.observed_pieces())
                                         for _ in range(2))))
        print(f"alone: {alone / 1e6:.2f} ms, observed: {observed / 1e6:.2f} ms", flush=True)
        self.assertGreater(observed, COST_PART * alone)


if __name__ == "__main__":
    law.main()
