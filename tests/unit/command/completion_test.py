# SPDX-License-Identifier: GPL-2.0-only
"""What bash completes of a line that begins with correlator. CORRELATOR names the binary."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

CORRELATOR = os.environ["CORRELATOR"]
COMPLETION = pathlib.Path(__file__).resolve().parents[3] / "correlator/command/completion.bash"
COMMANDS = ["record", "report", "top", "dump", "export", "forward", "verify", "doctor", "ps"]
# As bash calls it when the last word is being typed. Its parts are words, too: --sort = c.
SCRIPT = """
. "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_correlator
printf '%s\\n' "${COMPREPLY[@]}"
"""


def complete(*words, folder="/"):
    result = subprocess.run(["bash", "--norc", "-c", SCRIPT, "bash", COMPLETION, CORRELATOR, *words],
                            cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    assert not result.stderr, result.stderr
    return set(result.stdout.split("\n")) - {""}


def run(*arguments):
    return subprocess.run([CORRELATOR, *arguments], capture_output=True, text=True, timeout=60)


class CompletionTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "puma.rec").touch()

    def test_the_commands_are_those_of_the_help(self):
        said = set(re.findall(r"^  ([a-z]+) ", run("--help").stdout.split("\n  --")[0], re.M))
        self.assertEqual(said | {"--help", "--version"}, complete(""))
        self.assertEqual(set(COMMANDS) | {"--help", "--version"}, complete(""))
        self.assertEqual({"record", "report"}, complete("re"))

    def test_every_option_of_the_help_is_completed_and_no_other(self):
        for command in COMMANDS:
            with self.subTest(command):
                lines = re.findall(r"^ {2,6}((?:-., )?--[a-z-]+)", run(command, "--help").stdout, re.M)
                said = {option for line in lines for option in line.split(", ")}
                self.assertLess(2, len(said))
                self.assertEqual(said, complete(command, "-"))
        self.assertEqual({"--tls-ca", "--tls-cert"}, complete("record", "--tls-c"))

    def test_a_fixed_list_is_what_the_tool_takes(self):
        for command, option, short in (("report", "--sort", "-s"), ("report", "--format", "-f"),
                                       ("dump", "--kind", "-k"), ("export", "--format", "-f")):
            with self.subTest(option):
                refused = run(command, option, "?", "-").stderr
                said = set(re.split(r",\s+", re.search(r"one\s+of ([\w\s,]+)", refused)[1].strip()))
                self.assertLess(2, len(said))
                for words in (option, ""), (short, ""), (option, "="):
                    self.assertEqual(said, complete(command, *words))
        self.assertEqual({"cpu_percent", "cpu_p50", "cpu_p90", "cpu_p99"},
                         complete("report", "--sort", "=", "cpu_p"))
        self.assertEqual(complete("report", "--sort", ""), complete("report", "--columns", ""))
        self.assertEqual({"cpu,wall_p50", "cpu,wall_p90", "cpu,wall_p99"},
                         complete("report", "--columns", "cpu,wall_p"))
        self.assertEqual({"gzip"}, complete("record", "--compress", ""))

    def test_pids_are_those_of_rubies(self):
        # Of a process that is Ruby by its name; the test's own is not.
        with subprocess.Popen(["bash", "-c", "printf ruby >/proc/$$/comm; echo; read -r line"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            for words in ("-p", ""), ("--pid", "="), ("-k", "endpoint", "-p", str(process.pid)[:1]):
                pids = complete("record", *words)
                self.assertIn(str(process.pid), pids)
                self.assertNotIn(str(os.getpid()), pids)
            process.stdin.close()

    def test_the_name_of_a_process_is_not_run(self):
        name = "$(>a)"
        with subprocess.Popen(["bash", "-c", f"printf '%s' '{name}' >/proc/$$/comm; echo; read -r line"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            names = complete("record", "--comm", "", folder=self.folder)
            process.stdin.close()
        self.assertIn("bash", names)
        self.assertNotIn(name, names)
        self.assertFalse((self.folder / "a").exists())

    def test_files_stand_where_a_file_is_meant(self):
        for words in (("report", "pu"), ("forward", "pu"), ("forward", "--no-ack", "pu"),
                      ("record", "-o", "pu"), ("record", "--tls-ca", "=", "pu"),
                      ("forward", "--shared-key-file", "pu"), ("record", "--forward", "unix", ":", "pu"),
                      ("record", "--metrics", "file", ":", "pu")):
            with self.subTest(words):
                self.assertEqual({"puma.rec"}, complete(*words, folder=self.folder))
        self.assertEqual(set(), complete("doctor", "pu", folder=self.folder))
        self.assertEqual(set(), complete("report", "--top", "", folder=self.folder))

    def test_addresses_begin_with_what_the_tool_takes(self):
        self.assertEqual({"tcp://", "tls://", "unix:"}, complete("forward", "--to", ""))
        self.assertEqual({"tcp://", "tls://"}, complete("record", "--forward", "=", "t"))
        self.assertEqual({"tcp://127.0.0.1:", "unix:", "file:"}, complete("record", "--metrics", ""))

    def test_shellcheck_has_no_complaint(self):
        result = subprocess.run(["shellcheck", COMPLETION], capture_output=True, text=True, timeout=60)
        self.assertEqual("", result.stdout + result.stderr)

    def test_a_command_follows_two_hyphens(self):
        self.assertIn("sleep", complete("record", "-o", "a", "--", "slee"))
        self.assertEqual({"puma.rec"}, complete("record", "--", "cat", "pu", folder=self.folder))


if __name__ == "__main__":
    unittest.main()
