# SPDX-License-Identifier: GPL-2.0-only
"""Processes in containers, and the observer in one."""
import pathlib
import shutil
import subprocess

import container
import harness
import records
from container import ContainedWorkload
from harness import Recording, Workload, run_correlator


class ContainedTargetTest(harness.LiveTest):
    def test_pid_is_the_hosts_and_records_carry_both(self):
        with ContainedWorkload("driven.rb") as workload:
            self.assertNotEqual(workload.pid, workload.ns_pid)
            with Recording(self.output, "-p", workload.pid) as recording:
                answer = workload.evaluate(
                    'pid = fork { Correlator.with(request_id: "child") { Workload.spin_ms(30) } }; '
                    "Process.wait(pid); Thread.new { Correlator.with(request_id: \"thread\") "
                    "{ Workload.spin_ms(30); $$ } }.value; pid")
                inside = {container.ids_inside(task / "status")[-1]: int(task.name) for task in
                          pathlib.Path(f"/proc/{workload.pid}/task").iterdir()}
                workload.evaluate('Correlator.with(request_id: "main") { Workload.spin_ms(30) }')
                self.assert_ended_well(recording, recording.stop())
            found = recording.records()
        for record in found:
            if record["kind"] in ("meta", "self"):
                self.assertNotIn("ns_pid", record)
            elif record["pid"] == workload.pid:
                self.assertEqual(workload.ns_pid, record["ns_pid"], record)
            else:
                self.assertEqual(answer, record["ns_pid"], record)
                self.assertNotEqual(answer, record["pid"])
        self.assertEqual(["fork", "exit"], [record["event"] for record in
                                            records.of_kind(found, "process")
                                            if record["ns_pid"] == answer])
        cpu = {record["request_id"]: record for record in records.of_kind(found, "cpu")}
        totals = records.totals_by(found)
        for request_id in "main", "thread", "child":
            self.assert_burned(30, totals[request_id]["cpu_ns"])
        self.assertEqual((workload.ns_pid, workload.pid),
                         (cpu["main"]["ns_tid"], cpu["main"]["tid"]))
        self.assertEqual(inside[workload.ns_pid], cpu["main"]["tid"])
        self.assertEqual(answer, cpu["child"]["ns_tid"])
        self.assertNotIn(cpu["thread"]["ns_tid"], (workload.ns_pid, cpu["thread"]["tid"]))

    def test_what_requests_used_in_a_container_is_right(self):
        with ContainedWorkload("threads.rb") as workload:
            before_ns = workload.cpu_ns()
            with Recording(self.output, "-p", workload.pid) as recording:
                truth = workload.run()
                growth_ns = workload.cpu_ns() - before_ns
                self.assert_ended_well(recording, recording.stop())
            found = recording.records()
        self.assertEqual([], records.wrong_requests(truth, records.totals_by(found), found))
        sums = records.books(found)
        self.assertAlmostEqual(growth_ns, sums["attributed_ns"] + sums["unattributed_ns"],
                               delta=records.BALANCE_PART * growth_ns)

    def test_the_same_pid_in_two_containers(self):
        """Two processes that are the same pid inside, and whose publishers are the same path."""
        with ContainedWorkload("driven.rb") as one, ContainedWorkload("driven.rb") as other:
            self.assertEqual(one.ns_pid, other.ns_pid)
            with Recording(self.output, "-p", one.pid, "-p", other.pid) as recording:
                for name, workload in ("one", one), ("other", other):
                    workload.evaluate(f'Correlator.with(request_id: "{name}") '
                                      "{ Workload.spin_ms(30) }")
                self.assert_ended_well(recording, recording.stop())
            found = recording.records()
        for name, workload in ("one", one), ("other", other):
            totals = records.totals_by(found, pid=workload.pid)
            self.assert_burned(30, totals[name]["cpu_ns"])
            self.assertLessEqual(set(totals), {name, ""})

    def test_the_root_changed_by_chroot(self):
        with ContainedWorkload("driven.rb", change="chroot") as workload, \
                Recording(self.output, "-p", workload.pid) as recording:
            workload.evaluate('Correlator.with(request_id: "main") { Workload.spin_ms(30) }')
            self.assert_ended_well(recording, recording.stop())
        totals = records.totals_by(recording.records())
        self.assert_burned(30, totals["main"]["cpu_ns"])

    def test_a_process_that_has_left_its_files_behind(self):
        with Workload("driven.rb") as workload:
            workload.evaluate(f'Dir.chroot("{self.folder}"); Dir.chdir("/"); nil')
            with Recording(self.output, "-p", workload.pid) as recording:
                workload.evaluate('Correlator.with(request_id: "main") { Workload.spin_ms(30) }')
                self.assert_ended_well(recording, recording.stop())
        totals = records.totals_by(recording.records())
        self.assert_burned(30, totals["main"]["cpu_ns"])

    def test_least_privilege_is_enough(self):
        """Without CAP_SYS_ADMIN nothing opens /proc/PID/map_files: it must go by /proc/PID/root."""
        binary = shutil.copy(harness.CORRELATOR, self.folder)
        few = harness.as_user(self.folder, ("bpf", "perfmon", "sys_ptrace"))
        for change in "pivot_root", "chroot":
            with self.subTest(change), ContainedWorkload("driven.rb", change=change) as workload:
                result = subprocess.run([*few, binary, "doctor", "-p", str(workload.pid)], text=True,
                                        capture_output=True, timeout=harness.DEADLINE_SECONDS)
                self.assertEqual(harness.EXIT_OK, result.returncode, result.stdout + result.stderr)
                self.assertRegex(result.stdout, "ok +thread-local")

    def test_doctor_says_what_it_is_inside(self):
        with ContainedWorkload("sequential.rb") as workload:
            result = run_correlator("doctor", "-p", workload.pid)
        self.assertEqual(harness.EXIT_OK, result.returncode, result.stdout)
        self.assertRegex(result.stdout, r"ok +pid namespace +the machine's")
        self.assertRegex(result.stdout, r"ok +namespaces +own pid, mount, user; pid "
                                        rf"{workload.ns_pid} inside")
        self.assertRegex(result.stdout, r"thread-local +.* in /srv/correlator/correlator\.so")


class ContainedObserverTest(harness.LiveTest):
    """Correlator in a pid namespace, as a privileged container has one."""

    INSIDE = ["unshare", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc"]

    def script(self, code, namespace=None):
        """Runs a shell script with the workload's command in $@ and the tool in $correlator."""
        return subprocess.run([*(namespace or self.INSIDE), "sh", "-euc", code, "sh",
                               *map(str, [*harness.RUBY, harness.FIXTURES / "boot.rb"])],
                              text=True, capture_output=True, timeout=harness.DEADLINE_SECONDS,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                                   "correlator": str(harness.CORRELATOR),
                                   "output": str(self.output)})

    def test_pids_are_those_of_its_namespace(self):
        result = self.script('"$correlator" record -o "$output" -- "$@"; ls /proc')
        self.assertEqual(0, result.returncode, result.stderr)
        *_, used_ns = [line for line in result.stdout.splitlines() if line.isdigit()
                       and int(line) > 10**8]
        found = [record for _, record in records.read_records(self.output)]
        pids = {record["pid"] for record in records.of_kind(found, "process")}
        self.assertTrue(all(pid < 100 for pid in pids), pids)
        self.assertEqual({record["pid"] for record in records.of_kind(found, "balance")}, pids)
        for record in records.of_kind(found, "cpu"):
            self.assertEqual((record["pid"], record["tid"]), (record["ns_pid"], record["ns_tid"]))
        totals = records.totals_by(found)
        self.assertLess({"first", "later-19"}, set(totals))
        self.assertAlmostEqual(int(used_ns), sum(total["cpu_ns"] for total in totals.values()),
                               delta=0.01 * int(used_ns))

    def test_processes_of_its_namespace_are_found_and_no_others(self):
        with Workload("sequential.rb") as outside:
            result = self.script('"$@" >/dev/null & '
                                 '"$correlator" record -o "$output" -d 3s --all-ruby; wait')
        self.assertEqual(0, result.returncode, result.stderr)
        found = [record for _, record in records.read_records(self.output)]
        process, = {(record["pid"], record["ns_pid"], record["comm"])
                    for record in records.of_kind(found, "process")}
        self.assertEqual(process[0], process[1])
        self.assertNotEqual(process[0], outside.pid)
        self.assertGreater(records.totals_by(found, pid=process[0])["first"]["cpu_ns"], 0)

    def test_proc_of_another_namespace_is_refused(self):
        outside = [word for word in self.INSIDE if word != "--mount-proc"]
        for command in 'record -o "$output" -p 1', "doctor -p 1":
            result = self.script(f'"$correlator" {command}', outside)
            self.assertEqual(harness.EXIT_UNSUPPORTED, result.returncode, result.stderr)
            self.assertIn("mount -t proc", result.stderr)

    def test_a_shifted_clock_is_refused(self):
        result = self.script('"$correlator" record -o "$output" -- "$@"',
                             ["unshare", "--time", "--monotonic=1000", "--fork"])
        self.assertEqual(harness.EXIT_UNSUPPORTED, result.returncode, result.stderr)
        self.assertIn("time namespace", result.stderr)


if __name__ == "__main__":
    harness.main()
