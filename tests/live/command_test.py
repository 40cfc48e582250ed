# SPDX-License-Identifier: GPL-2.0-only
"""`record -- COMMAND`: a program observed from its first instruction on."""
import fcntl
import json
import os
import pathlib
import pty
import signal
import subprocess
import sys
import termios

import harness
import records
from harness import Recording, Workload, run_correlator


class CommandTest(harness.LiveTest):
    def record(self, *command, options=()):
        """The lines that the command printed, and the records."""
        with Recording(self.output, *options, "--", *command, stdout=subprocess.PIPE) as recording:
            lines = recording.process.stdout.read().splitlines()
            self.assert_ended_well(recording, recording.wait())
        return lines, recording.records()

    def test_requests_of_a_program_that_has_just_begun(self):
        def start(*arguments, **options):
            return self.enter(Recording(self.output, "-i", "200ms", *arguments, **options))

        recording, lines = harness.boot_until_seen(start, self.folder)
        self.assert_ended_well(recording, recording.wait())
        found = recording.records()
        truth = {request["request_id"]: records.Figure(request["cpu_ns"], request["uncertain_ns"])
                 for request in map(json.loads, lines[:-1])}
        process_ns = int(lines[-1])
        totals = records.totals_by(found)
        # Its CPU until the gem was picked up is in no context, but counted.
        first_ns = totals["first"]["cpu_ns"]
        self.assertLessEqual(first_ns, truth["first"] * (1 + records.TOLERANCE_PART))
        self.assertEqual([], records.wrong_requests(truth | {"first": first_ns}, totals, found))
        self.check_exec(process_ns, found)
        events = [record["event"] for record in records.of_kind(found, "process")]
        self.assertEqual(["found", "exec", "load", "exit"], events)

    def check_exec(self, process_ns, found):
        """Against the process's own clock, read last: the rest is its exit, a few milliseconds."""
        sums = records.books(found)
        self.assertLessEqual(abs(sums["residual_ns"]), records.BALANCE_PART * sums["exec_ns"])
        self.assertGreaterEqual(sums["exec_ns"], (1 - records.BALANCE_PART) * process_ns)
        self.assertLess(sums["exec_ns"], (1 + records.BALANCE_PART) * process_ns + 20_000_000)

    def test_a_program_without_ruby_is_recorded_as_unattributed(self):
        lines, found = self.record("sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; "
                                   "echo $i")
        self.assertEqual(["20000"], lines)
        sums = records.books(found)
        self.assertGreater(sums["exec_ns"], 1_000_000)
        self.assertEqual(0, sums["attributed_ns"])

    def test_what_is_normal_is_no_damage(self):
        """Programs that requests start, and threads that name themselves in one: no warning, and no flag."""
        code = ('require "correlator"; 10.times { |i| Correlator.with(request_id: "r#{i}") { `true`; '
                'Thread.current.name = "n#{i}"; Process.ppid; 200_000.times {} } }')
        # Where the program has ended by the end of the window, its keys have no names any more.
        for key, warnings in (("requst_id", r"correlator: warning: no context had the key requst_id"
                               r"(: did you mean request_id\?|; contexts have: request_id)"), ("request_id", "")):
            result = harness.run_correlator("record", "-k", key, "-o", self.output, "--force", "--", *harness.RUBY, "-e",
                                            code)
            self.assertEqual(harness.EXIT_OK, result.returncode, result.stderr)
            self.assertRegex("\n".join(line for line in result.stderr.splitlines() if "warning" in line),
                             rf"\A{warnings}\Z")
        found = [record for _, record in records.read_records(self.output)]
        ruby = {record["pid"] for record in records.of_kind(found, "process") if record["event"] == "found"}
        # But for the one that was in force when contexts began to be read.
        self.assertLessEqual(len({record["request_id"] for record in records.of_kind(found, "cpu")
                                  if record["pid"] in ruby and "inherited" in record.get("flags", ())}), 1)

    def test_with_records_on_standard_output_the_command_speaks_on_standard_error(self):
        with Recording("-", "--", "sh", "-c", "echo spoken", stdout=subprocess.PIPE) as recording:
            entries, _ = records.unpack_entries(recording.process.stdout.buffer.read())
            self.assertEqual(harness.EXIT_OK, recording.wait())
        self.assertEqual("meta", entries[0][1]["kind"])
        self.assertIn("spoken\n", recording.lines)

    def test_the_first_window_may_be_a_short_one(self):
        def is_written():
            entries, _ = records.unpack_entries(self.output.read_bytes())
            return any(record["kind"] == "balance" for _, record in entries)

        with Recording(self.output, "-i", "1h", "--first-window", "10ms", "--", "cat",
                       stdin=subprocess.PIPE) as recording:
            harness.await_true(is_written, "the first window")
            recording.process.stdin.close()
            self.assert_ended_well(recording, recording.wait())
        self.assertEqual(2, sum(1 for _ in records.of_kind(recording.records(), "balance")))

    def test_one_that_never_publishes_is_said_and_is_no_failure(self):
        with Recording(self.output, "--", "true") as recording:
            self.assert_ended_well(recording, recording.wait())
        self.assertIn("warning: no context was published", recording.messages)


class StatusTest(harness.LiveTest):
    """It ends as its command does."""

    def check(self, code, *arguments, says=""):
        result = run_correlator("record", "-o", self.output, "--force", *arguments)
        self.assertEqual(code, result.returncode, result.stderr)
        self.assertIn(says, result.stderr)

    def test_of_a_command_that_ended_by_itself_or_by_a_signal(self):
        self.check(7, "--", "sh", "-c", "exit 7")
        self.check(128 + signal.SIGKILL, "--", "sh", "-c", "kill -KILL $$")

    def test_of_one_that_cannot_be_run(self):
        self.check(127, "--", "/no/such/command", says="cannot run /no/such/command: No such file")
        plain = self.folder / "plain"
        plain.write_text("not a program")
        self.check(126, "--", plain, says=f"cannot run {plain}: Permission denied")

    def test_what_fails_of_ours_comes_before_it(self):
        self.check(harness.EXIT_FAILURE, "-o", "/dev/full", "--", "sh", "-c", "exit 7")

    def test_a_duration_ends_the_recording_and_not_the_command(self):
        with Recording(self.output, "-d", "100ms", "--", "sh", "-c", "read line; exit 7",
                       stdin=subprocess.PIPE) as recording:
            self.assertEqual(harness.EXIT_OK, recording.process.wait(harness.DEADLINE_SECONDS))
            recording.await_message("goes on")

    def test_beside_a_process_the_command_says_for_how_long(self):
        with Workload("sequential.rb", 12) as workload:
            self.check(harness.EXIT_OK, "-p", workload.pid, "-i", "600s", "--", "true")
            self.check(3, "-p", workload.pid, "-i", "600s", "--", "sh", "-c", "exit 3")
            self.assertIsNone(workload.process.poll())

    def test_a_number_is_no_command(self):
        self.check(harness.EXIT_USAGE, os.getpid(), says=f"-p {os.getpid()}")


# Says what it gets, and ends by a byte on its standard input: with 5. A shell's trap can come too late:
# between the look for a signal and the read that waits.
LISTENER = """
import os, select, signal, sys
come, comes = os.pipe()
os.set_blocking(comes, False)
signal.set_wakeup_fd(comes)
for name in "HUP INT TERM USR1 USR2 QUIT WINCH TTIN TTOU ALRM CONT".split():
    signal.signal(getattr(signal, "SIG" + name), lambda *_: None)
print("up", flush=True)
while True:
    ready, _, _ = select.select([0, come], [], [])
    for number in os.read(come, 1) if come in ready else ():
        print(signal.Signals(number).name[3:], flush=True)
    if 0 in ready:
        sys.exit(5)
"""


class SignalTest(harness.LiveTest):
    def start(self, **options):
        recording = self.enter(Recording(
            self.output, "-i", "600s", "--", sys.executable, "-c", LISTENER, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, **options))
        self.assertEqual("up\n", recording.process.stdout.readline())
        return recording

    def finish(self, recording):
        """What the command still said."""
        recording.process.stdin.write("\n")
        recording.process.stdin.flush()
        said = recording.process.stdout.read()
        self.assertEqual(5, recording.wait(), recording.messages)
        self.assertEqual("exit", recording.records()[-1]["event"])
        return said

    def tell(self, recording, number):
        recording.process.send_signal(number)
        self.assertEqual(f"{number.name[3:]}\n", recording.process.stdout.readline())

    def test_each_that_ends_is_passed_on_and_the_recording_lasts_as_long_as_the_command(self):
        for number in signal.SIGTERM, signal.SIGINT:
            with self.subTest(number):
                self.output.unlink(missing_ok=True)
                recording = self.start()
                self.tell(recording, number)
                self.assertEqual("", self.finish(recording))

    def test_others_are_passed_on_as_often_as_they_come(self):
        recording = self.start()
        for _ in range(2):
            for name in "HUP USR1 USR2 QUIT WINCH TTIN TTOU ALRM CONT".split():
                self.tell(recording, getattr(signal, f"SIG{name}"))
        self.tell(recording, signal.SIGTERM)
        self.assertEqual("", self.finish(recording))

    def test_what_was_ignored_at_the_start_stays_so(self):
        with Workload("driven.rb") as workload:
            recording = self.enter(Recording(self.output, "-p", workload.pid,
                                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)))
            recording.process.send_signal(signal.SIGHUP)
            workload.evaluate('Correlator.with(request_id: "r") { Workload.spin_ms(5) } && nil')
            self.assert_ended_well(recording, recording.stop())
        self.assertIn("r", {record.get("request_id") for record in recording.records()})

    def test_two_within_a_second_end_the_recording_at_once(self):
        recording = self.start()
        self.tell(recording, signal.SIGTERM)
        recording.await_message("two signals within a second end it")
        recording.process.send_signal(signal.SIGINT)
        # Not wait(), which waits for the end of what is said: the command holds that open, too.
        code = recording.process.wait(harness.DEADLINE_SECONDS)
        recording.await_message("goes on")
        self.assertEqual(harness.EXIT_OK, code, recording.messages)
        self.assertEqual("", self.finish_alone(recording))

    def finish_alone(self, recording):
        recording.process.stdin.write("\n")
        recording.process.stdin.flush()
        return recording.process.stdout.read()

    def test_ctrl_c_reaches_the_command_by_the_terminal_alone(self):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        self.addCleanup(os.close, theirs)

        def take_terminal():
            os.setsid()
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

        recording = self.start(preexec_fn=take_terminal)
        os.write(ours, b"\x03")
        recording.await_message("two signals within a second end it")
        self.assertEqual("INT\n", recording.process.stdout.readline())
        self.assertEqual("", self.finish(recording))


# Leaves orphans, and says how many of them stay zombies.
ORPHANS = """
import os, sys
for _ in range(5):
    child = os.fork()
    if not child:
        if not os.fork():
            os._exit(0)
        os._exit(0)
    os.waitpid(child, 0)
def states():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            yield open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0]
        except OSError:
            pass
for _ in range(100000):
    if "Z" not in states():
        sys.exit(7)
    os.sched_yield()
"""


class FirstProcessTest(harness.LiveTest):
    def command(self, *arguments):
        return ["unshare", "--pid", "--fork", "--mount-proc", harness.CORRELATOR, "record", "-o", self.output, *arguments]

    def test_orphans_leave_no_zombies(self):
        with harness.Process(self.command("-q", "--", sys.executable, "-c", ORPHANS)) as recorder:
            self.assertEqual(7, recorder.wait())

    def test_it_passes_signals_on(self):
        environment = {**os.environ, "CORRELATOR_SHARED_KEY": "a-key-of-customers"}
        with harness.Process(self.command("--", sys.executable, "-c", LISTENER), stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True, env=environment) as recorder:
            self.assertEqual("up\n", recorder.process.stdout.readline())
            # unshare(1) waits; the first process is its child.
            first = int(pathlib.Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read_text())
            # It only waits, and gives up what the recorder gives up (recorder/forward/secret.h).
            self.assertEqual(b"", pathlib.Path(f"/proc/{first}/environ").read_bytes().strip(b"\0"))
            for number in signal.SIGHUP, signal.SIGUSR1, signal.SIGTERM:
                os.kill(first, number)
                self.assertEqual(f"{number.name[3:]}\n", recorder.process.stdout.readline())
            recorder.process.stdin.write("\n")
            recorder.process.stdin.flush()
            self.assertEqual(5, recorder.wait())


if __name__ == "__main__":
    harness.main()
