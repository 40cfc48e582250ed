# SPDX-License-Identifier: GPL-2.0-only
"""Names that others choose, of processes, threads, files, requests and methods, reach no terminal and no log raw."""
import json
import re
import shutil

import harness
from harness import Recording, Workload, run_correlator

# A terminal obeys the first of it, a line break would begin a line of its own, and U+202E turns the text beside it.
EVIL = "\x1b]0;pwned\x07\x1b[41m\n<1>forged\r\u202e"
EXIT_FIRED = 5
# A comm has 15 bytes.
COMM = "x)\n<1>f\x1b[41m"
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
BURN = ("Thread.new { Thread.current.name = $evil; eval('def burnt = Correlator.with(request_id: $evil, "
        "endpoint: $evil) { Workload.spin_ms(300) }', nil, $evil); burnt }.join && nil")


def ruby_string(text):
    return json.dumps(text).replace("#", "\\#")


class EvilWorkload(Workload):
    """Named so are: its comm, a thread, the folder that the gem is in, the file of a method, a request."""

    def __init__(self, folder):
        self.library = folder / EVIL
        shutil.copytree(harness.BUILD / "ruby" / "lib", self.library)
        super().__init__("driven.rb")
        self.evaluate(f"$evil = {ruby_string(EVIL)}; File.write('/proc/self/comm', {ruby_string(COMM)})")

    def command(self, script, *arguments):
        return ["ruby", "-I", self.library, "-I", harness.BUILD / "fixtures", harness.FIXTURES / script, *arguments]

    def burn(self):
        self.evaluate(BURN)


class NamesTest(harness.LiveTest):
    def check(self, what, text):
        raw = RAW.search(text)
        self.assertIsNone(raw, (what, raw and text[max(0, raw.start() - 80):raw.end() + 20]))
        self.assertNotIn("\n<1>", text, what)

    def check_run(self, *arguments):
        result = run_correlator(*arguments)
        self.check(arguments, result.stdout + result.stderr)
        return result

    def record(self, workload):
        with Recording(self.output, "-v", "-v", "-p", workload.pid, "-k", "request_id", "-k", "endpoint",
                       "--timeline", "--stacks", "--syscalls", "--alert", "p99(cpu) > 1ns by endpoint") as recording:
            workload.burn()
            self.assert_ended_well(recording, recording.stop())
        self.check("record", recording.messages)
        self.assertIn("\\x0a<1>f", recording.messages)

    def test_no_command_prints_them(self):
        with EvilWorkload(self.folder) as workload:
            self.record(workload)
            self.assertIn("\\x1b]0;pwned", self.check_run("doctor", "-p", workload.pid).stdout)
        for arguments in (("report",), ("report", "--stacks"), ("report", "--by", "thread_name,comm,endpoint"),
                          ("report", "--syscalls"), ("report", "--slowest"), ("report", "--over-time"),
                          ("report", "--alert", "p99(cpu) > 1ns by endpoint"),
                          ("verify",), ("dump",)):
            status = self.check_run(*arguments, self.output).returncode
            self.assertIn(status, (harness.EXIT_OK, EXIT_FIRED), arguments)
        self.check_run("report", "--request", EVIL, self.output)
        for form in ("json", "ndjson", "csv"):
            self.check_run("report", "--format", form, self.output)

    def test_a_file_that_cannot_be_read_is_named(self):
        for command in (("report",), ("dump",), ("verify",), ("forward", "--to", "tcp://127.0.0.1:1"),
                        ("record", "--config"), ("record", "-p", "1", "-o")):
            self.check_run(*command, self.folder / EVIL / EVIL)

    def test_an_argument_that_is_none_is_named(self):
        configuration = self.folder / "correlator.conf"
        configuration.write_text(f"pid = {EVIL}\n")
        for command in ((EVIL,), ("report", f"--{EVIL}"), ("dump", f"-{EVIL}"), ("record", f"--{EVIL}=1", "-p", "1"),
                        ("top", f"--ou={EVIL}"), ("report", "--sort", EVIL), ("report", "--top", EVIL), ("record", "-p", EVIL),
                        ("record", "--config", configuration), ("record", "-p", "1", "--alert", EVIL),
                        ("export", "--format", EVIL), ("report", "--where", EVIL), ("forward", "--to", EVIL)):
            self.assertNotEqual(harness.EXIT_OK, self.check_run(*command).returncode, command)


if __name__ == "__main__":
    harness.main()
