# SPDX-License-Identifier: GPL-2.0-only
"""Which Rubies there are, by `correlator ps`, and the short ways to what a command does."""
import re
import subprocess

import harness
from harness import Process, Workload, run_correlator

NOTHING = "nothing: add the gem `correlator' to the application and restart it"


class PsTest(harness.LiveTest):
    def rows(self):
        """{pid: its cells}, and what is said below."""
        result = run_correlator("ps")
        self.assertEqual(harness.EXIT_OK, result.returncode, result.stderr)
        table, _, below = result.stdout.partition("\n\n")
        lines = [re.split("  +", line.strip()) for line in table.splitlines()]
        self.assertEqual(["pid", "name", "server", "ruby", "publishes", "mode"], lines[0])
        return {int(cells[0]): cells for cells in lines[1:]}, " ".join(below.split())

    def test_each_ruby_has_a_line_with_what_it_publishes(self):
        workload = self.enter(Workload("sequential.rb"))
        bare = self.enter(Process(["ruby", "-e", "$stdout.syswrite(\"\\n\"); gets"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE))
        sleeper = self.enter(Process(["sleep", "600"]))
        bare.process.stdout.readline()
        rows, below = self.rows()
        self.assertEqual(["gem correlator", "exact"], rows[workload.pid][-2:])
        self.assertRegex(rows[workload.pid][3], r"^\d+\.\d+\.\d+$")
        self.assertEqual(["nothing", "-"], rows[bare.pid][-2:])
        self.assertNotIn(sleeper.pid, rows)
        self.assertEqual(sorted(rows), list(rows))
        self.assertIn(NOTHING, below)

    def test_a_user_without_privileges_is_told_that_some_may_not_be_read(self):
        self.enter(Workload("sequential.rb"))
        binary = self.copy_of_the_tool()
        result = subprocess.run([binary, "ps"], user=harness.NOBODY, group=harness.NOBODY, extra_groups=[], text=True,
                                capture_output=True, timeout=harness.DEADLINE_SECONDS)
        self.assertRegex(result.stderr, r"warning: \d+ process(es)? may not be read.*that takes CAP_SYS_PTRACE")

    def copy_of_the_tool(self):
        """The build folder may be out of another user's reach."""
        path = self.folder / "correlator"
        path.write_bytes(harness.CORRELATOR.read_bytes())
        path.chmod(0o755)
        self.folder.chmod(0o755)
        return path


class ShortWaysTest(harness.LiveTest):
    def test_help_of_a_command_is_its_help_however_it_is_asked_for(self):
        for command in "record", "report", "top", "dump", "export", "forward", "verify", "doctor", "ps":
            with self.subTest(command):
                said = {run_correlator(*words).stdout for words in ((command, "--help"), (command, "-h"), ("help", command),
                                                                    ("--help", command))}
                self.assertEqual(1, len(said))
                self.assertIn(f"Usage: correlator {command} ", said.pop())

    def test_a_number_is_a_pid(self):
        workload = self.enter(Workload("sequential.rb"))
        self.assertIn(f"\nProcess {workload.pid} (ruby", run_correlator("doctor", workload.pid).stdout)
        shown = run_correlator("top", workload.pid, "--batch", "-n", "1")
        self.assertEqual(harness.EXIT_OK, shown.returncode, shown.stderr)
        self.assertIn(f"pid {workload.pid}", shown.stdout)
        self.assertIn("no command `no-such`", run_correlator("help", "no-such").stderr)


if __name__ == "__main__":
    harness.main()
