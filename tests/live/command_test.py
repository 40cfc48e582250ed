# SPDX-License-Identifier: GPL-2.0-only
"""`record -- COMMAND`: a program observed from its first instruction on."""
import json
import subprocess

import harness
import records
from harness import Recording

# From the gem's loading to the first reading: some milliseconds, more where all CPUs are busy.
PICKUP_NS = 200_000_000


class CommandTest(harness.LiveTest):
    def record(self, *command, options=()):
        """The lines that the command printed, and the records."""
        with Recording(self.output, *options, "--", *command, stdout=subprocess.PIPE) as recording:
            lines = recording.process.stdout.read().splitlines()
            self.assert_ended_well(recording, recording.wait())
        return lines, recording.records()

    def test_requests_of_a_program_that_has_just_begun(self):
        lines, found = self.record(*harness.RUBY, harness.FIXTURES / "boot.rb",
                                   options=("-i", "200ms"))
        truth = {request["request_id"]: request["cpu_ns"]
                 for request in map(json.loads, lines[:-1])}
        process_ns = int(lines[-1])
        totals = records.totals_by(found)
        # What was in force before the gem was picked up is not known, but counted.
        first_ns = totals["first"]["cpu_ns"]
        self.assertGreater(first_ns, truth["first"] - PICKUP_NS)
        self.assertLessEqual(first_ns, truth["first"] * (1 + records.TOLERANCE_PART))
        self.assertEqual([], records.wrong_requests(truth | {"first": first_ns}, totals))
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

    def test_with_records_on_standard_output_the_command_speaks_on_standard_error(self):
        with Recording("-", "--", "sh", "-c", "echo spoken", stdout=subprocess.PIPE) as recording:
            entries, _ = records.unpack_entries(recording.process.stdout.buffer.read())
            self.assertEqual(harness.EXIT_OK, recording.wait())
        self.assertEqual("meta", entries[0][1]["kind"])
        self.assertIn("spoken\n", recording.lines)


if __name__ == "__main__":
    harness.main()
