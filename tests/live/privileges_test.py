# SPDX-License-Identifier: GPL-2.0-only
"""The whole job without root: what CAP_BPF and CAP_PERFMON suffice for, what needs CAP_SYS_PTRACE,
and what is said where something is missing.

It holds whatever kernel.perf_event_paranoid, unprivileged_bpf_disabled and yama.ptrace_scope are;
tests/kernels sets them as distributions do. The sum is the kernel's own to the nanosecond, as the
threads sleep when it is read; the requests' CPU times are compared by their median, which other
load does not move by requests.
"""
import os
import pathlib
import shutil
import statistics

import harness
import records
from harness import NOBODY, Recording, Workload

OWN = ("bpf", "perfmon")
ALL = (*OWN, "sys_ptrace")
MEDIAN_PART = 0.05
YAMA = pathlib.Path("/proc/sys/kernel/yama/ptrace_scope")


def ptrace_scope():
    return int(YAMA.read_text()) if YAMA.exists() else 0


AS_NOBODY = "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"


class CopiedWorkload(Workload):
    """A workload from a folder that everybody may enter, as programs are, of the given user."""

    def __init__(self, folder, prefix, *words):
        for path in (*harness.RUBY_PATHS, harness.FIXTURES):
            shutil.copytree(path, folder / "srv", dirs_exist_ok=True)
        self.folder = folder / "srv"
        self.prefix = prefix
        super().__init__(*words)

    def command(self, script, *arguments):
        return [*self.prefix, "ruby", "-I", self.folder, self.folder / script, *arguments]


class NobodysRecording(Recording):
    def __init__(self, test, capabilities, *arguments):
        self.prefix = test.tool(capabilities)
        super().__init__(test.output, *arguments)

    def command(self, path, *arguments):
        return [*self.prefix, "record", "-o", path, *arguments]


class PrivilegesTest(harness.LiveTest):
    def tool(self, capabilities):
        # The build folder may be out of that user's reach.
        binary = pathlib.Path(shutil.copy(harness.CORRELATOR, self.folder))
        binary.chmod(0o755)
        return [*harness.as_user(self.folder, capabilities), binary]

    def run_tool(self, capabilities, *arguments):
        words = [*self.tool(capabilities), *arguments]
        return harness.subprocess.run(list(map(str, words)), text=True, capture_output=True,
                                      stdin=harness.subprocess.DEVNULL,
                                      timeout=harness.DEADLINE_SECONDS)

    def check_refused(self, capabilities, *arguments, says):
        result = self.run_tool(capabilities, "record", "-o", self.output, *arguments)
        self.assertEqual(harness.EXIT_UNSUPPORTED, result.returncode, result.stderr)
        for pattern in says:
            self.assertRegex(result.stderr, pattern)
        self.assertNotIn("not Ruby", result.stderr)
        self.assertFalse(self.output.exists())

    def check_main_job(self, workload, capabilities, *arguments):
        before_ns = workload.cpu_ns()
        recording = self.enter(NobodysRecording(self, capabilities, *arguments))
        truth = workload.run()
        growth_ns = workload.cpu_ns() - before_ns
        self.assert_ended_well(recording, recording.stop())
        found = recording.records()
        sums = records.books(found, workload.pid)
        self.assertEqual(growth_ns, sums["attributed_ns"] + sums["unattributed_ns"], sums)
        self.assertEqual(0, sums["residual_ns"], sums)
        totals = records.totals_by(found, pid=workload.pid)
        self.assertEqual({name for name in truth if name}, {name for name in totals if name})
        errors = [abs(totals[name]["cpu_ns"] - cpu_ns) / cpu_ns for name, cpu_ns in truth.items()
                  if name]
        self.assertLess(statistics.median(errors), MEDIAN_PART, sorted(errors))
        self.check_mode(recording, found)

    def check_mode(self, recording, found):
        """Uprobes take no more than that from 6.6 on; before, what is done instead is said."""
        may_probe = self.has_uprobe_multi()
        meta = records.of_kind(found, "meta")[0]
        self.assertEqual("exact" if may_probe else "lean", meta["mode"])
        said = "uprobes need CAP_SYS_ADMIN"
        if may_probe:
            self.assertNotIn(said, recording.messages)
        else:
            self.assertIn(said, recording.messages)
            self.assertIn(said, meta["reason"])

    def has_uprobe_multi(self):
        return "ok    uprobe_multi link" in harness.run_correlator("doctor").stdout

    def test_processes_of_others(self):
        with CopiedWorkload(self.folder, [], "threads.rb", "4") as workload:
            self.check_main_job(workload, ALL, "-p", workload.pid)

    def test_the_same_when_they_are_searched_for(self):
        with CopiedWorkload(self.folder, [], "threads.rb", "4") as workload:
            self.check_main_job(workload, ALL, "--all-ruby")

    def test_processes_of_ones_own(self):
        with CopiedWorkload(self.folder, AS_NOBODY, "threads.rb", "4") as workload:
            if ptrace_scope() == 0:
                self.check_main_job(workload, OWN, "-p", workload.pid)
            else:
                self.check_refused(OWN, "-p", workload.pid,
                                   says=[str(workload.pid), f"yama.ptrace_scope is {ptrace_scope()}",
                                         "CAP_SYS_PTRACE"])
                self.check_main_job(workload, ALL, "-p", workload.pid)

    def test_processes_of_others_without_the_capability(self):
        with Workload("threads.rb", "1") as workload:
            self.check_refused(OWN, "-p", workload.pid,
                               says=[rf"not allowed to read process {workload.pid}: it is user "
                                     rf"{os.geteuid()}'s, which needs CAP_SYS_PTRACE"])

    def test_a_search_that_cannot_look_at_all_ends(self):
        with Workload("threads.rb", "1"):
            self.check_refused(OWN, "--all-ruby",
                               says=[r"\d+ processes may not be read", "CAP_SYS_PTRACE"])

    def test_no_capability_for_programs(self):
        with Workload("threads.rb", "1") as workload:
            self.check_refused(("sys_ptrace",), "-p", workload.pid,
                               says=["missing CAP_BPF, CAP_PERFMON"])

    def test_doctor_says_what_each_is_for(self):
        with Workload("threads.rb", "1") as workload:
            result = self.run_tool(OWN, "doctor", "-p", workload.pid)
        output = result.stdout + result.stderr
        self.assertEqual(harness.EXIT_UNSUPPORTED, result.returncode, output)
        self.assertRegex(output, r"note +CAP_SYS_PTRACE +missing: .*own user.*ptrace_scope")
        self.assertRegex(output, r"not allowed to read process \d+: .*needs CAP_SYS_PTRACE")
        self.assertRegex(output, r"ok +programs +loaded and verified: exact\n")
        if not self.has_uprobe_multi():
            self.assertRegex(output, r"note +CAP_SYS_ADMIN +missing: .*uprobes.*as with --lean")


if __name__ == "__main__":
    harness.main()
