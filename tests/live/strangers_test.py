# SPDX-License-Identifier: GPL-2.0-only
"""What a local user without rights may try against a recorder of root's, in a folder that both may write."""
import os
import stat
import subprocess

import harness
from harness import Workload, run_correlator

STRANGER = 64_999  # a user without a name
SECRET = "a-customer-s-secret"


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


if __name__ == "__main__":
    harness.main()
