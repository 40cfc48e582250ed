# SPDX-License-Identifier: GPL-2.0-only
"""What the live tests share: processes to observe, recordings of them, and ways to await both.

Nothing here sleeps for a guessed time: a recording says when it is attached, a workload says when
it is done, and what says nothing is polled in /proc until it is so.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import msgpack

import records
from records import read_records

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("CORRELATOR_BUILD", SOURCE / "build")).resolve()
CORRELATOR = BUILD / "bin" / "correlator"
FIXTURES = SOURCE / "fixtures"
FAKES = BUILD / "fakes"
RUBY_PATHS = [BUILD / "ruby" / "lib", BUILD / "fixtures"]
RUBY = ["ruby"] + [word for path in RUBY_PATHS for word in ("-I", str(path))]

OWN_PIDS = "CORRELATOR_TEST_OWN_PIDS"

EXIT_OK, EXIT_FAILURE, EXIT_USAGE, EXIT_UNSUPPORTED, EXIT_NO_TARGET = range(5)
EXIT_INTERRUPTED = 130
EXIT_SKIPPED = 77

NOBODY = 65534
OBSERVERS = 64_998  # the group `correlator` in the tests
# Whether tests are to do all that they can (`tests/run long`), not what the gate has time for.
IS_LONG = os.environ.get("CORRELATOR_LONG") == "1"
# Only a hang gets there, also on a machine that is busy with other things.
DEADLINE_SECONDS = float(os.environ.get("DEADLINE_SECONDS", "60"))
# The error of a stretch of some tens of ms: its beginning and its end, and a pause of the virtual machine.
BURN_SLACK_NS = 4_000_000
PAUSE_NS = 12_000_000
POLL_SECONDS = 0.01
# How much is recorded in a second depends on the machine; and looking at it takes CPU time itself.
ENOUGH_SECONDS = 5 * DEADLINE_SECONDS
ENOUGH_POLL_SECONDS = 0.2


def await_true(condition, what, seconds=DEADLINE_SECONDS, poll_seconds=POLL_SECONDS):
    """Polls until condition() is true, and returns what it returned."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds} s for {what}")
        time.sleep(poll_seconds)
    return value


def boot_until_seen(start, folder):
    """
    The recording of fixtures/boot.rb that start(command..., stdout=, env=) begins, and the lines that it has printed:
    its first request lasts until it has been recorded.
    """
    picked_up = folder / "picked up"
    recording = start("--", *RUBY, FIXTURES / "boot.rb", stdout=subprocess.PIPE,
                      env={**os.environ, "PICKED_UP": str(picked_up)})
    await_true(lambda: any(record.get("request_id") == "first" for record in recording.records_so_far()),
               "the first request")
    picked_up.touch()
    return recording, recording.process.stdout.read().splitlines()


def threads(pid):
    """{tid: (state, CPU ns)} by the scheduler's own account; None if a thread ended meanwhile."""
    found = {}
    try:
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            state = (task / "stat").read_text().rpartition(")")[2].split()[0]
            found[int(task.name)] = state, int((task / "schedstat").read_text().split()[0])
    except (FileNotFoundError, ProcessLookupError):
        return None
    return found


def parked_cpu_ns(pid):
    """Waits until all threads of a process sleep: then the sum of their CPU times is exact."""
    last = None

    def is_parked():
        nonlocal last
        before, last = last, threads(pid)
        return last and last == before and all(state == "S" for state, _ in last.values())

    await_true(is_parked, f"all threads of {pid} to sleep")
    return sum(cpu_ns for _, cpu_ns in last.values())


def run_correlator(*arguments, **options):
    """Runs correlator to its end. Beside unit tests under sanitizers and a flood of children, `doctor`, which loads all
    programs six times, took a minute."""
    return subprocess.run([CORRELATOR, *map(str, arguments)], timeout=5 * DEADLINE_SECONDS, check=False,
                          **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                             "stderr": subprocess.PIPE, "text": True, **options})


class Process(contextlib.AbstractContextManager):
    """A child process that does not outlive the `with` block."""

    def __init__(self, command, **options):
        self.process = subprocess.Popen([str(word) for word in command], **options)
        self.pid = self.process.pid

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def wait(self):
        return self.process.wait(timeout=DEADLINE_SECONDS)


class Workload(Process):
    """A script of fixtures/ that talks as fixtures/workload.rb says; ready once constructed."""

    def __init__(self, script, *arguments, environment=None):
        super().__init__(self.command(script, *arguments), text=True,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         env=self.environment(environment))
        try:
            self.start()
            words = self.process.stdout.readline().split()
            if words[:1] != ["ready"]:
                raise RuntimeError(f"{script} does not start: it said {words}")
            self.pid = self.find_pid(words[1])
        except Exception:
            self.__exit__()
            raise

    def command(self, script, *arguments):
        return [*RUBY, FIXTURES / script, *arguments]

    def environment(self, changes):
        return {**os.environ, **(changes or {})}

    def start(self):
        """What there is to do before it runs."""

    def find_pid(self, said):
        if said != str(self.pid):
            raise RuntimeError(f"{self.pid} says that it is {said}")
        return self.pid

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def go(self, is_enough=None):
        """Lets it work. One that goes on until it is told (until_enough) is told as soon as is_enough()."""
        self.say("go")
        if is_enough:
            await_true(is_enough, "enough to be recorded", ENOUGH_SECONDS, ENOUGH_POLL_SECONDS)
            self.say("enough")

    def run(self, is_enough=None):
        """Lets it work; {request_id: cpu_ns} by its own measurement. Its threads stay alive."""
        self.go(is_enough)
        truth = {}
        for line in self.process.stdout:
            if line == "done\n":
                return truth
            request = json.loads(line)
            truth[request["request_id"]] = records.Figure(request["cpu_ns"],
                                                          request["uncertain_ns"])
        raise RuntimeError("the workload ended in the middle")

    def evaluate(self, code):
        """Of driven.rb: the value of a line of Ruby."""
        self.say(code)
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(f"{code}: {answer['error']}")
        return answer["value"]

    def cpu_ns(self):
        return parked_cpu_ns(self.pid)


class FakeRuby(Workload):
    """A program of fixtures/fake_ruby.c, which says what it can do."""

    def command(self, script, *arguments):
        return [FAKES / script]

    def obey(self, line):
        self.say(line)
        answer = self.process.stdout.readline()
        if answer != "done\n":
            raise RuntimeError(f"{line}: {answer}")


class GrowingFile:
    """What has been written to a recording until now."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.read_bytes = 0
        self.unpacker = msgpack.Unpacker(raw=False, strict_map_key=True)
        self.found = []

    def records(self):
        """All complete records, as maps: a list that grows from call to call. Reads only what is new."""
        if self.path.exists():
            with self.path.open("rb") as file:
                file.seek(self.read_bytes)
                data = file.read()
            self.read_bytes += len(data)
            self.unpacker.feed(data)
            self.found.extend(entry[1] for entry in self.unpacker if records.is_record(entry))
        return self.found


def as_user(folder, capabilities=(), user=NOBODY, is_member=True):
    """What to put before a command: that user's, with these capabilities and no others, and, if is_member, in the
    group that may observe processes of others: of an /etc/group that only that command sees."""
    group = folder / "group"
    group.write_text(f"root:x:0:\ncorrelator:x:{OBSERVERS}:\n")
    words = ",".join(f"+{name}" for name in capabilities)
    grant = ["--inh-caps", f"-all,{words}", "--ambient-caps", f"-all,{words}"] if words else []
    return ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/group && exec "$@"', group, "setpriv",
            f"--reuid={user}", f"--regid={user}", f"--groups={OBSERVERS}" if is_member else "--clear-groups", *grant]


class Recording(Process):
    """A `correlator record` that is attached once constructed."""

    READY = re.compile("correlator: (observing|starting) ")

    def __init__(self, path, *arguments, **options):
        self.path = pathlib.Path(path)
        self.growing = GrowingFile(path)
        self.lines = []
        self.changed = threading.Condition()
        super().__init__(self.command(path, *arguments), text=True,
                         **{"stdin": subprocess.DEVNULL, **options}, stderr=subprocess.PIPE)
        self.reader = threading.Thread(target=self.read_messages, daemon=True)
        self.reader.start()
        try:
            self.await_message(self.READY)
        except Exception:
            self.__exit__()
            raise

    def command(self, path, *arguments):
        return [CORRELATOR, "record", "-o", path, *arguments]

    def read_messages(self):
        for line in self.process.stderr:
            with self.changed:
                self.lines.append(line)
                self.changed.notify_all()
        with self.changed:
            self.lines.append("")
            self.changed.notify_all()

    def await_message(self, pattern):
        def has_come():
            return any(re.search(pattern, line) for line in self.lines) or self.lines[-1:] == [""]

        with self.changed:
            self.changed.wait_for(has_come, DEADLINE_SECONDS)
            if not any(re.search(pattern, line) for line in self.lines):
                raise RuntimeError(f"correlator did not say {pattern}, but: {self.messages}")

    @property
    def messages(self):
        return "".join(self.lines)

    def wait(self):
        code = super().wait()
        self.reader.join(DEADLINE_SECONDS)
        return code

    def stop(self, number=signal.SIGINT):
        """Ends it as a user would; its exit code."""
        self.process.send_signal(number)
        return self.wait()

    def records_so_far(self):
        """What it has written until now, as maps."""
        return self.growing.records()

    def records(self):
        """All that it wrote, as maps; the file must be complete, and what was said of it true."""
        found = [record for _, record in read_records(self.path)]
        said = re.search(r"correlator: wrote (\d+) records", self.messages)
        if said and int(said[1]) != len(found):
            raise AssertionError(f"it has {len(found)} records, and: {said[0]}")
        return found


class LiveTest(unittest.TestCase):
    """A test with a folder of its own that anybody may enter."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="correlator-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.folder.chmod(0o777)
        self.output = self.folder / "out.msgpack"

    def assert_calls(self, found, prefix, count):
        """That each request of fixtures/bare.rb was charged its own system calls."""
        calls = records.calls_of(found, prefix)
        self.assertEqual({f"{prefix}-{number}" for number in range(count)}, set(calls))
        for name, number in calls.items():
            self.assertIn(number, records.REQUEST_CALLS, name)

    def enter(self, context):
        """Enters a `with` block that lasts as long as the test."""
        self.addCleanup(context.__exit__, None, None, None)
        return context

    def observe_lines(self, workload, *lines, arguments=()):
        """Of driven.rb: the truth {request_id: ...} that lines of Ruby return, and the records of it."""
        recording = self.enter(Recording(self.output, "-p", workload.pid, *arguments))
        truth = {}
        for line in lines:
            truth.update(workload.evaluate(line))
        self.assert_ended_well(recording, recording.stop())
        return truth, recording.records()

    def assert_burned(self, milliseconds, cpu_ns, slack_ns=0, msg=None):
        """By Workload.spin_ms(), which goes on until its thread's clock says so, and reads it every 20 us. What a
        hypervisor takes away in the middle is the thread's by all clocks (10 ms at a time were seen), or, if it tells
        of it, nobody's."""
        self.assertGreater(cpu_ns, milliseconds * 1e6 - BURN_SLACK_NS - slack_ns, msg)
        self.assertLess(cpu_ns, milliseconds * 1e6 + BURN_SLACK_NS + PAUSE_NS + slack_ns, msg)

    def assert_ended_well(self, recording, code):
        self.assertEqual(EXIT_OK, code, recording.messages)
        self.assertRegex(recording.messages, "correlator: (wrote|made) ")


def kernel_traces(tracepoint):
    """sched_prepare_exec: since Linux 6.10; mm_filemap_fault: 6.12."""
    with open("/sys/kernel/btf/vmlinux", "rb") as types:
        return b"btf_trace_" + tracepoint.encode() + b"\0" in types.read()


def missing(*others):
    """Why the live tests, which may need other programs, too, cannot run here; None if they can."""
    if os.geteuid() != 0:
        return "not root"
    if not os.access("/sys/kernel/btf/vmlinux", os.R_OK):
        return "this kernel has no BTF"
    if not os.access(CORRELATOR, os.X_OK):
        return f"{CORRELATOR} is not built (CORRELATOR_BUILD names the build folder)"
    programs = [name for name in ("ruby", "puma", "bpftool", *others) if not shutil.which(name)]
    return f"not installed: {', '.join(programs)}" if programs else None


def own_pids():
    """Goes on in a pid namespace of its own, whose next pid a test may choose."""
    if OWN_PIDS in os.environ or os.geteuid() != 0:
        return
    os.environ[OWN_PIDS] = "1"
    os.execvp("unshare", ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, "-B",
                          *sys.argv])


def choose_next_pid(pid):
    """Unless another process is made meanwhile, or has it."""
    pathlib.Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid - 1))


def main(*others):
    """Runs the tests of a file; where they cannot run, a skip, which in CI is a failure."""
    reason = missing(*others)
    if reason:
        print(f"SKIP: {reason}")
        sys.exit(EXIT_FAILURE if os.environ.get("CI") == "true" else EXIT_SKIPPED)
    unittest.main(verbosity=2)
