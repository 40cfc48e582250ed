# SPDX-License-Identifier: GPL-2.0-only
"""User and kernel time: of a request that spins, one that reads /dev/zero, two that call getppid.

  spin     no system calls: user time, but for the timer's and the scheduler's work. Each round is a request,
           and the median of them is judged: in a single one the kernel may reclaim memory, or the hypervisor
           take the CPU away in a system call of measure()'s
  zero     1 MiB a call: kernel time, but for Ruby's work around the calls. The same loop with one
           byte a call takes that work and little kernel time: that of getppid is taken for it,
           which is right to half a point
  getppid  a system call without work of its own, one right after the other: the hard case
  sparse   the same with computing in between, so that each finds the caches cold

Kernel time of getppid is what passes from just before to just after the syscall instruction:
fixtures/syscall_stopwatch.c measures it, call by call, in the process whose records are judged by
it, and in one beside which the same loop runs without a stopwatch. The figures of that second
process are means over turns that alternate with the first one's.

Not used as a truth, because measured to be wrong for getppid: the loop of the C method (22 ns a
turn; it lacks the 15 to 18 ns by which user code is slower behind a mode switch, which makes the
kernel's part 7 points too large), and utime/stime (ticks that come due while interrupts are off, on
the way out of the kernel, are delivered in user mode: 12 points too small).

The tolerance is the records' own split_error_ns, and nothing else, whether the machine is idle or two
other processes keep its CPUs busy; but no more than TOLERANCES, in parts of the request's CPU and
beside what the hypervisor stole. With these the test notices what it is there for: a way into the
kernel of half the length is a difference of 17 points of getppid's loop. The bound itself is 4 to 9
points of that on a machine with a steady speed, and wider where single calls differ more (11 to 41 points
were seen): there the error is to be within BOUND_PART of it. CEILINGS limits the bound where a getppid
takes USUAL_NS or less; a machine whose traps are dearer doubts as much more.

Reading 1 MiB of zeros empties the caches that the user's part of the next turn fills again, which
the construction does not know: 2.5 points on an AMD EPYC, 4.5 there as a guest whose traps are dear and whose
CPUs are busy. Hence ZERO_TOLERANCE.

The tracing makes a system call dearer, and that is kernel time of whoever calls: it is printed by
how much.
"""
import collections
import contextlib
import os
import pathlib
import signal
import sys
import time
import unittest

import harness
import records
from harness import Process, Recording, Workload

TOLERANCES = {"spin": 0.01, "zero": 0.05, "getppid": 0.12, "sparse": 0.08}
CEILINGS = {"spin": 0.05, "zero": 0.10, "getppid": 0.40, "sparse": 0.35}
USUAL_NS = 500
# The error was at most 0.70 of a bound that is wider than TOLERANCES.
BOUND_PART = 0.8
ZERO_TOLERANCE = 0.07
STOPWATCH = harness.BUILD / "fixtures" / "syscall_stopwatch.so"
TURNS = 20_000
SPARSE_TURNS = 4_000
READS = 300
SPIN_TURNS = 200_000
ROUNDS = 100
# Beside the calls that are timed: of measure() itself, and Ruby's own.
OTHER_CALLS = 10 * ROUNDS

# CPU ns that a block uses, in the context of its name.
MEASURE = "def measure(name, &work) = Correlator.with(request_id: name) { Workload.cpu_ns(&work) }; nil"
GETPPID = f"i = 0; while i < {TURNS}; Process.ppid; i += 1; end"
SPARSE = f"{SPARSE_TURNS}.times {{ Process.ppid; Workload.spin(50) }}"
NO_KERNEL = f"i = 0; while i < {TURNS}; Process.last_status; i += 1; end"
ZERO = ('File.open("/dev/zero", "rb") { |zero| buffer = String.new(capacity: 1 << 20); '
        f"{READS}.times {{ zero.sysread(%s, buffer) }} }}")
SPIN = f"Workload.spin({SPIN_TURNS})"
BURN = "while True: pass"


def measure(workload, name, code):
    return workload.evaluate(f'measure("{name}") {{ {code} }}')


class Split(harness.LiveTest):
    """What is tested with the CPUs idle, and with them busy: one recording for all of it."""
    burners = 0

    @classmethod
    def setUpClass(cls):
        test = cls("setUp")
        test.setUp()
        cls.addClassCleanup(test.doCleanups)
        with contextlib.ExitStack() as others:
            for _ in range(cls.burners):
                others.enter_context(Process([sys.executable, "-c", BURN]))
            cls.record(test.folder)
        print(f"getppid: {cls.untraced_ns:.0f} ns a turn, traced {cls.traced_ns:.0f} ns: tracing "
              f"costs {cls.traced_ns - cls.untraced_ns:.0f} ns a system call", flush=True)

    @classmethod
    def record(cls, folder):
        """Measures all of them under one recording."""
        with cls.start() as plain, cls.start(folder / "getppid") as timed, \
                cls.start(folder / "sparse") as sparse:
            cls.untraced_ns = min(measure(plain, "getppid", GETPPID) for _ in range(ROUNDS)) / TURNS
            pids = plain.pid, timed.pid, sparse.pid
            with Recording(folder / "out", *(word for pid in pids for word in ("-p", pid))) \
                    as recording:
                cls.measure_in_turn(plain, timed, sparse)
                recording.stop()
            for workload in timed, sparse:
                workload.process.stdin.close()
                workload.wait()
        found = recording.records()
        cls.totals = records.totals_by(found, pid=plain.pid)
        cls.timed = cls.with_truth(found, timed.pid, folder / "getppid", "getppid")
        cls.sparse = cls.with_truth(found, sparse.pid, folder / "sparse", "sparse")

    @staticmethod
    def start(stopwatch=None):
        """A process; with a file to write to, one whose calls of getppid are timed."""
        environment = {"GROUND_TRUTH": "off"}
        if stopwatch:
            environment.update(LD_PRELOAD=str(STOPWATCH), SYSCALL_STOPWATCH=str(stopwatch))
        workload = Workload("driven.rb", environment=environment)
        workload.evaluate(MEASURE)
        return workload

    @classmethod
    def measure_in_turn(cls, plain, timed, sparse):
        codes = {"getppid": GETPPID, "no-kernel": NO_KERNEL, "zero": ZERO % (1 << 20),
                 "one-byte": ZERO % 1, "spin": SPIN}
        used = dict.fromkeys(codes, 0)
        for turn, (name, code) in enumerate(list(codes.items()) * ROUNDS):
            used[name] += measure(plain, f"{name} {turn}" if name == "spin" else name, code)
            if name == "getppid":
                measure(timed, name, code)
            if name == "spin":
                measure(sparse, "sparse", SPARSE)
        cls.used = {name: total_ns / ROUNDS for name, total_ns in used.items()}
        cls.traced_ns = cls.used["getppid"] / TURNS

    @staticmethod
    def with_truth(found, pid, path, name):
        """The request's total, with its kernel time by the stopwatch."""
        total = records.totals_by(found, pid=pid)[name]
        if path.exists():
            calls, mean_ns = map(float, path.read_text().split())
            total.update(timed_calls=calls, call_ns=mean_ns)
        return total

    def kernel_share(self, total):
        self.assertEqual(total["cpu_ns"], total["user_ns"] + total["kernel_ns"])
        return total["kernel_ns"] / total["cpu_ns"]

    def check_share(self, name, total, truth, least=0):
        """Judges a kernel share by the records' own bound (at least `least`), and that by its ceiling."""
        share, bound = self.kernel_share(total), total["split_error_ns"] / total["cpu_ns"]
        print(f"{name}: {truth:.4f}, by the records {share:.4f} ({100 * (share - truth):+.2f} points), "
              f"give or take {bound:.4f}", flush=True)
        stolen = total["stolen_ns"] / total["cpu_ns"]
        self.assertLessEqual(abs(truth - share),
                             max(least, min(bound, max(TOLERANCES[name], BOUND_PART * bound) + stolen)))
        self.assertLessEqual(bound, CEILINGS[name] * max(1, self.untraced_ns / USUAL_NS) + stolen)

    def check_timed(self, name, total, turns):
        self.assertGreater(total["timed_calls"], 0.95 * ROUNDS * turns)
        self.assertLess(total["syscalls"] - ROUNDS * turns, OTHER_CALLS)
        self.check_share(name, total, ROUNDS * turns * total["call_ns"] / total["cpu_ns"])

    def test_a_request_that_spins_is_user_time(self):
        spins = [total for name, total in self.totals.items() if name and name.startswith("spin ")]
        self.assertEqual(ROUNDS, len(spins))
        self.check_share("spin", sorted(spins, key=self.kernel_share)[ROUNDS // 2], 0, 0.02)

    def test_a_request_that_reads_zeros_is_kernel_time_but_for_rubys_work_around_it(self):
        work_ns = self.used["one-byte"] - READS * self.traced_kernel_ns()
        self.check_share("zero", self.totals["zero"], 1 - work_ns / self.used["zero"],
                         ZERO_TOLERANCE)

    def traced_kernel_ns(self):
        """Of a getppid, about: what it takes beyond the loop without a system call."""
        return self.traced_ns - self.used["no-kernel"] / TURNS

    @unittest.skipUnless(os.uname().machine == "x86_64", "the stopwatch is for x86-64")
    def test_a_request_that_calls_getppid_is_kernel_time_as_by_the_stopwatch_in_it(self):
        self.check_timed("getppid", self.timed, TURNS)

    @unittest.skipUnless(os.uname().machine == "x86_64", "the stopwatch is for x86-64")
    def test_a_request_that_calls_getppid_is_kernel_time_as_by_the_stopwatch_beside_it(self):
        self.check_share("getppid", self.totals["getppid"],
                         self.timed["call_ns"] / self.traced_ns)

    @unittest.skipUnless(os.uname().machine == "x86_64", "the stopwatch is for x86-64")
    def test_a_request_that_computes_between_calls_is_as_by_the_stopwatch_in_it(self):
        self.check_timed("sparse", self.sparse, SPARSE_TURNS)

    def test_every_system_call_is_counted(self):
        self.assertAlmostEqual(ROUNDS * TURNS, self.totals["getppid"]["syscalls"],
                               delta=OTHER_CALLS)


class SplitTest(Split):
    def test_the_tracing_costs_less_than_a_microsecond_a_system_call(self):
        """Where traps are dear, less than 1.5 system calls: beside others 1.0 were seen."""
        self.assertLess(self.traced_ns - self.untraced_ns, max(1000, 1.5 * self.untraced_ns))


class BusySplitTest(Split):
    burners = 2


class CalibratorTest(harness.LiveTest):
    """The process that measures the way into the kernel."""

    def setUp(self):
        super().setUp()
        self.target = self.enter(Process(["sleep", "1000"])).pid

    def start(self, *arguments):
        """A recording, and its calibrators. With such a key the target need not be Ruby."""
        recording = self.enter(Recording(self.output, "--force", "-p", self.target, "-k",
                                         "otel.trace_id", *arguments))
        children = pathlib.Path(f"/proc/{recording.pid}/task/{recording.pid}/children")
        return recording, [int(pid) for pid in children.read_text().split()
                           if pathlib.Path(f"/proc/{pid}/comm").read_text() == "correlator-way\n"]

    @staticmethod
    def has_ended(pid):
        try:
            return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except (FileNotFoundError, ProcessLookupError):
            return True

    def test_it_ends_with_the_recording_also_with_one_that_is_killed(self):
        for number in signal.SIGINT, signal.SIGKILL:
            recording, (calibrator,) = self.start()
            recording.stop(number)
            harness.await_true(lambda: self.has_ended(calibrator), "the calibrator's end")

    def test_it_is_not_there_without_the_split(self):
        self.assertEqual([], self.start("--no-kernel-split")[1])

    def test_it_holds_nothing_but_its_maps(self):
        _, (calibrator,) = self.start()
        folder = pathlib.Path(f"/proc/{calibrator}/fd")
        held = collections.Counter(os.readlink(fd) for fd in folder.iterdir())
        del held[next(name for name in held if name.startswith("pipe:"))]
        self.assertEqual({"anon_inode:bpf-map": 2, "anon_inode:[pidfd]": 1}, held)

    def test_without_it_all_of_the_way_is_in_doubt(self):
        with Workload("driven.rb") as workload:
            self.target = workload.pid
            recording, (calibrator,) = self.start("-k", "request_id", "-i", "200ms")
            os.kill(calibrator, signal.SIGKILL)
            recording.await_message("the process that measures .* has ended")
            workload.evaluate(MEASURE)
            measure(workload, "getppid", GETPPID)
            self.assert_ended_well(recording, recording.stop())
        found = recording.records()
        total = records.totals_by(found)["getppid"]
        self.assertGreaterEqual(total["split_error_ns"],
                                min(total["cpu_ns"], TURNS * found[0]["transition_ns"] // 2))
        self.assertEqual({workload.pid}, {record["pid"] for record in records.of_kind(found, "cpu")})

    def test_its_cost_is_less_than_a_percent_of_a_cpu_and_part_of_our_own(self):
        recording, (calibrator,) = self.start("-d", "3s")
        schedstat = pathlib.Path(f"/proc/{calibrator}/schedstat")
        first_ns = last_ns = int(schedstat.read_text().split()[0])
        while not self.has_ended(calibrator):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                last_ns = int(schedstat.read_text().split()[0])
            time.sleep(harness.POLL_SECONDS)
        recording.wait()
        costs = records.of_kind(recording.records(), "self")
        passed_ns = sum(cost["window_ns"] for cost in costs)
        print(f"{(last_ns - first_ns) / passed_ns * 1e3:.2f} ms of CPU a second", flush=True)
        self.assertLess(last_ns - first_ns, passed_ns / 100)
        # Of two readings, the first may be later than the recording's own.
        self.assertGreater(sum(cost["own_cpu_ns"] for cost in costs), (last_ns - first_ns) * 0.9)


def load_tests(loader, _tests, _pattern):
    return unittest.TestSuite(map(loader.loadTestsFromTestCase, (SplitTest, BusySplitTest, CalibratorTest)))


if __name__ == "__main__":
    harness.main()
