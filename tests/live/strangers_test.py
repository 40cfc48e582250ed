# SPDX-License-Identifier: GPL-2.0-only
"""What a local user without rights may try against a recorder of root's, in a folder that both may write."""
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import urllib.request

import harness
import records
from harness import Workload, run_correlator

STRANGER = 64_999  # a user without a name
SECRET = "a-customer-s-secret"
# Asks for metrics, as fast as it can.
FLOOD = """import socket, sys
while True:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as client:
        client.sendall(b"GET /metrics HTTP/1.0\\r\\n\\r\\n")
        while client.recv(1 << 20): pass"""


def as_stranger(script, *arguments):
    """Runs a shell script as that user."""
    subprocess.run(["sh", "-euc", f"umask 022; {script}", "sh", *map(str, arguments)], user=STRANGER, group=STRANGER,
                   extra_groups=[], check=True, timeout=harness.DEADLINE_SECONDS)


class StrangersTest(harness.LiveTest):
    def setUp(self):
        super().setUp()
        self.shared = self.folder / "shared"
        self.shared.mkdir()
        self.shared.chmod(0o1777)
        self.workload = self.enter(Workload("driven.rb"))

    def record(self, *arguments):
        """With the default name, there."""
        return run_correlator("record", "-p", self.workload.pid, "-d", "100ms", *arguments, cwd=self.shared)


class OutputTest(StrangersTest):
    """What she has put at the name of the output."""

    def refuse(self, reason, *arguments):
        result = self.record(*arguments)
        self.assertEqual(harness.EXIT_FAILURE, result.returncode, result.stderr)
        self.assertIn("correlator.msgpack", result.stderr)
        self.assertIn(reason, result.stderr)

    def prepare(self, script, *arguments):
        as_stranger(f'cd "$1"; {script}', self.shared, *arguments)

    def test_an_empty_file_of_hers_that_she_may_read(self):
        self.prepare(": > correlator.msgpack")
        self.refuse(f"belongs to uid {STRANGER}")
        self.prepare("echo x > correlator.msgpack")
        self.refuse(f"belongs to uid {STRANGER}", "--force")

    def test_a_pipe_that_she_reads(self):
        self.prepare("mkfifo -m 600 correlator.msgpack")
        self.refuse(f"belongs to uid {STRANGER}")

    def test_a_link_to_where_nothing_is(self):
        self.prepare('ln -s "$2" correlator.msgpack', self.folder / "made")
        self.refuse("is a link")
        self.assertFalse((self.folder / "made").exists())

    def test_a_link_to_a_file_of_roots(self):
        precious = self.folder / "precious"
        precious.touch(0o600)
        precious.write_text("precious")
        self.prepare('ln -s "$2" correlator.msgpack', precious)
        self.refuse("is a link", "--force")
        self.assertEqual("precious", precious.read_text())

    def test_a_page_is_for_root_alone(self):
        self.record("-o", self.output)
        page = self.shared / "page.html"
        self.prepare(": > page.html")
        result = run_correlator("report", "--html", page, self.output)
        self.assertEqual(harness.EXIT_OK, result.returncode, result.stderr)
        status = page.stat()
        self.assertEqual((0, 0o600), (status.st_uid, stat.S_IMODE(status.st_mode)))


class MetricsTest(StrangersTest):
    def test_a_pipe_beside_the_metrics_file(self):
        """At the name that it began with once."""
        as_stranger('mkfifo -m 666 "$1"', self.shared / "x.prom.new")
        result = self.record("-o", self.output, "--metrics", f"file:{self.shared}/x.prom")
        self.assertEqual(harness.EXIT_OK, result.returncode, result.stderr)
        self.assertIn("correlator_", (self.shared / "x.prom").read_text())

    def test_a_metrics_socket_is_never_anybody_else_s(self):
        old = os.umask(0)
        self.addCleanup(os.umask, old)
        with harness.Recording(self.output, "-p", self.workload.pid, "--metrics", f"unix:{self.shared}/m") as recording:
            status = (self.shared / "m").stat()
            self.assertEqual(0o600, stat.S_IMODE(status.st_mode))
            self.assert_ended_well(recording, recording.stop())


    BUDGET_PERCENT = 20

    def port_of(self, recording):
        pattern = r"metrics on port (\d+)"
        recording.await_message(pattern)
        return int(re.search(pattern, recording.messages)[1])

    def scrape(self, port):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=harness.DEADLINE_SECONDS) as answer:
            return answer.read()

    def test_a_flood_of_questions_is_in_no_budget(self):
        with harness.Recording(self.output, "-p", self.workload.pid, "-i", "100ms", "--budget",
                               str(self.BUDGET_PERCENT), "--metrics", "tcp://127.0.0.1:0") as recording:
            port = self.port_of(recording)
            for _ in range(4):
                flood = subprocess.Popen([sys.executable, "-c", FLOOD, str(port)], user=STRANGER, group=STRANGER,
                                         extra_groups=[], stderr=subprocess.DEVNULL)
                self.addCleanup(flood.wait)
                self.addCleanup(flood.kill)
            harness.await_true(lambda: len(records.of_kind(recording.records_so_far(), "self")) >= 30,
                               "30 windows to end")
            self.assertIn(b"correlator_", self.scrape(port))
            self.assert_ended_well(recording, recording.stop())
        found = recording.records()
        self.assertEqual(["exact"], [meta["mode"] for meta in records.of_kind(found, "meta")], recording.messages)
        costs = records.of_kind(found, "self")
        self.assertGreater(sum(cost["own_cpu_ns"] for cost in costs), 0)

    def test_forty_who_dawdle_keep_nobody_waiting_for_long(self):
        with harness.Recording(self.output, "-p", self.workload.pid, "--metrics", "tcp://127.0.0.1:0") as recording:
            port = self.port_of(recording)
            for _ in range(40):
                client = self.enter(socket.create_connection(("127.0.0.1", port)))
                client.sendall(b"GET /metrics HTTP/1.1\r\nX: ")
            # Each of the eight places is given up within 100 ms.
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=4) as answer:
                self.assertIn(b"correlator_", answer.read())
            self.assert_ended_well(recording, recording.stop())

    def test_a_port_that_is_taken_ends_no_recording(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            with harness.Recording(self.output, "-p", self.workload.pid, "--metrics",
                                   f"tcp://127.0.0.1:{port}") as recording:
                recording.await_message("another process listens on tcp://127.0.0.1:")
                other.close()
                recording.await_message(f"metrics on port {port}")
                self.assertIn(b"correlator_", self.scrape(port))
                self.assert_ended_well(recording, recording.stop())


class RightsTest(StrangersTest):
    """Of a tool that was given capabilities, by its file as `doctor` says or ambient ones as a service has them."""
    GIVEN = "bpf", "perfmon", "sys_ptrace"

    def setUp(self):
        super().setUp()
        self.binary = pathlib.Path(shutil.copy(harness.CORRELATOR, self.folder))
        self.binary.chmod(0o755)
        subprocess.run(["setcap", ",".join(f"cap_{name}" for name in self.GIVEN) + "+ep", self.binary], check=True)
        self.hers = self.folder / "hers"
        self.hers.mkdir()
        shutil.chown(self.hers, STRANGER)

    def run_as_stranger(self, *arguments, is_member=False, capabilities=(), binary=None):
        words = [*harness.as_user(self.folder, capabilities, STRANGER, is_member), binary or self.binary, *arguments]
        return subprocess.run([*map(str, words)], cwd=self.hers, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=harness.DEADLINE_SECONDS)

    def hidden_folder(self):
        """/proc/PID/cwd of a process of root's, in a folder that nobody else may enter."""
        private = self.folder / "private"
        private.mkdir(0o700)
        (private / "notes").write_text(f"password {SECRET}\n")
        process = self.enter(harness.Process(["cat"], cwd=private, stdin=subprocess.PIPE))
        return pathlib.Path(f"/proc/{process.pid}")

    def refuse(self, reason, *arguments, code=None, **options):
        result = self.run_as_stranger(*arguments, **options)
        self.assertIn(result.returncode, (code,) if code else range(1, 128), result.stdout + result.stderr)
        self.assertIn(reason, result.stdout + result.stderr)
        self.assertNotIn(SECRET, result.stdout + result.stderr)

    def test_processes_of_others_are_for_members_of_the_group(self):
        pid = self.workload.pid
        briefly = "record", "-d", "100ms", "-o", self.hers / "out", "--force"
        self.refuse("members of the group correlator", *briefly, "-p", pid, code=harness.EXIT_UNSUPPORTED)
        self.refuse("members of the group correlator", *briefly, "--all-ruby")
        self.refuse("members of the group correlator", "doctor", "-p", pid)
        self.refuse("members of the group correlator", *briefly, "-p", pid, capabilities=self.GIVEN,
                    binary=shutil.copy(harness.CORRELATOR, self.folder / "plain"))
        result = self.run_as_stranger(*briefly, "-p", pid, is_member=True)
        self.assertEqual(harness.EXIT_OK, result.returncode, result.stderr)
        result = self.run_as_stranger("doctor", "-p", pid, is_member=True)
        self.assertRegex(result.stdout, "ok +processes of others")
        self.assertRegex(result.stdout, "note +kept to a group +missing: everybody")

    def test_processes_of_ones_own_are_for_everybody(self):
        for path in (*harness.RUBY_PATHS, harness.FIXTURES):
            shutil.copytree(path, self.folder / "srv", dirs_exist_ok=True)
        command = ["ruby", "-I", self.folder / "srv", self.folder / "srv" / "boot.rb"]
        result = self.run_as_stranger("record", "-o", self.hers / "out", "--", *command)
        self.assertEqual(harness.EXIT_OK, result.returncode, result.stderr)

    def test_what_the_caller_may_not_read_is_not_read(self):
        hidden = self.hidden_folder()
        denied = "Permission denied"
        record = "record", "-p", self.workload.pid
        for name in "cwd/notes", "maps", "environ":
            path = hidden / name
            self.refuse(denied, *record, "--config", path, code=harness.EXIT_USAGE)
            self.refuse(denied, *record, "--forward", "tls://localhost:1", "--tls-ca", path)
            self.refuse(denied, *record, "--forward", "tcp://localhost:1", "--shared-key-file", path)
            for command in ("report",), ("dump",), ("verify",), ("export", "-f", "csv"), ("top",):
                self.refuse(denied, *command, path)

    def test_what_the_caller_may_not_write_is_not_written(self):
        hidden = self.hidden_folder()
        for output in (("-o", hidden / "cwd" / "out"), ("--metrics", f"file:{hidden}/cwd/out.prom"),
                       ("--metrics", f"unix:{hidden}/cwd/socket"),
                       ("--forward", "tcp://localhost:1", "--spool", hidden / "cwd" / "spool")):
            self.run_as_stranger("record", "-d", "100ms", "-p", self.workload.pid, *output, is_member=True)
        self.assertEqual(["notes"], os.listdir(hidden / "cwd"))

    def test_what_it_starts_has_no_more_than_the_caller(self):
        script = self.hers / "alert"
        script.write_text("#!/bin/sh\ngrep Cap /proc/self/status > alerted\n")
        script.chmod(0o755)
        for capabilities, binary in (((), None),
                                     (self.GIVEN, shutil.copy(harness.CORRELATOR, self.folder / "plain"))):
            with self.subTest(capabilities):
                result = self.run_as_stranger(
                    "record", "-o", self.hers / "out", "--force", "-k", "request_id", "-k", "endpoint", "--alert",
                    "lost >= 0", "--on-alert", script, "--", "grep", "Cap", "/proc/self/status", is_member=True,
                    capabilities=capabilities, binary=binary)
                self.assertRegex(result.stdout, r"CapEff:\s+0{16}\n", result.stderr)
                self.assertRegex(result.stdout, r"CapPrm:\s+0{16}\n")
                self.assertRegex(result.stdout, r"CapAmb:\s+0{16}\n")

    def test_top_passes_on_what_it_was_given(self):
        """To the recorder that it starts."""
        plain = shutil.copy(harness.CORRELATOR, self.folder / "plain")
        for capabilities, binary in ((), None), (self.GIVEN, plain):
            result = self.run_as_stranger("top", "-p", self.workload.pid, "--batch", "-n", "2", is_member=True,
                                          capabilities=capabilities, binary=binary)
            self.assertEqual(harness.EXIT_OK, result.returncode, result.stderr)

    def record_one_that_becomes_roots(self, is_member):
        """It is hers when the recording begins. Then it is Ruby of root's, by setuid, with a context of its own. It
        works for a second, and for a member until the recording has its code: on a busy machine its layout is known
        late."""
        out = self.hers / f"{is_member}.rec"
        with harness.Process(["ruby", "-I", self.folder / "srv", "-e",
                              "require 'correlator'; $stdout.syswrite(%(1\n)); $stdin.gets; exec(*ARGV)",
                              self.folder / "privileged", self.folder / "srv" / "secret.rb"],
                             user=STRANGER, group=STRANGER, extra_groups=[], text=True, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE) as process:
            self.assertEqual("1\n", process.process.stdout.readline())
            with harness.Process([*harness.as_user(self.folder, (), STRANGER, is_member), self.binary, "record", "-p",
                                  process.pid, "-i", "50ms", "--stacks", "-k", "request_id", "-o", out],
                                 text=True, stderr=subprocess.PIPE) as recorder:
                for line in recorder.process.stderr:
                    if "observing" in line:
                        break
                process.process.stdin.write("go\n")
                process.process.stdin.flush()
                self.assertEqual("0\n", process.process.stdout.readline())
                if is_member:
                    harness.await_true(lambda: b"secret.rb" in out.read_bytes(), "its code")
                process.process.stdin.write("end\n")
                process.process.stdin.flush()
                process.wait()
                recorder.wait()
        return out.read_bytes()

    def test_a_process_that_becomes_somebody_else_s_is_not_read_any_more(self):
        for path in (*harness.RUBY_PATHS, harness.FIXTURES):
            shutil.copytree(path, self.folder / "srv", dirs_exist_ok=True)
        privileged = shutil.copy(shutil.which("ruby"), self.folder / "privileged")
        os.chmod(privileged, 0o4755)
        (self.folder / "srv" / "secret.rb").write_text(
            "Process::UID.change_privilege(0)\n"
            "$LOAD_PATH.unshift(__dir__)\n"
            "require 'correlator'\n"
            "$stdout.syswrite(%(#{Process.euid}\n))\n"
            f"Correlator.with(request_id: '{SECRET}') do\n"
            "  ending = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 1\n"
            "  nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < ending\n"
            "  nil until IO.select([$stdin], nil, nil, 0)\n"
            "end\n")
        found = self.record_one_that_becomes_roots(False)
        self.assertNotIn(SECRET.encode(), found)
        self.assertNotIn(b"secret.rb", found)
        # So that it means something.
        found = self.record_one_that_becomes_roots(True)
        self.assertIn(SECRET.encode(), found)
        self.assertIn(b"secret.rb", found)

    def test_a_setuid_binary_is_refused(self):
        self.binary.chmod(0o4755)
        self.refuse("must not be setuid", "doctor")

    def test_it_leaves_no_core(self):
        with harness.Recording(self.output, "-p", self.workload.pid, cwd=self.folder) as recording:
            resource.prlimit(recording.process.pid, resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
            status = pathlib.Path(f"/proc/{recording.process.pid}/environ").stat()
            recording.process.send_signal(signal.SIGABRT)
            _, status = os.waitpid(recording.process.pid, 0)
            self.assertEqual(signal.SIGABRT, os.WTERMSIG(status))
            self.assertFalse(os.WCOREDUMP(status))


if __name__ == "__main__":
    harness.main()
