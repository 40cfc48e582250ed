# SPDX-License-Identifier: GPL-2.0-only
"""Puma: a cluster of two workers with four threads each, attached to by its master's pid."""
import json
import os
import pathlib
import socket
import subprocess
import urllib.request

import harness
import records
from harness import Process, Recording

WORKERS = 2
CONNECTIONS = 8


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def children(pid):
    return [int(child) for child in
            pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


class Puma(Process):
    """fixtures/app; its workers write what each request used to truth.PID when they stop."""

    APP = harness.FIXTURES / "app"

    def environment(self):
        return {"GROUND_TRUTH": str(self.folder / "truth")}

    def __init__(self, folder):
        self.folder = folder
        self.port = free_port()
        super().__init__(["puma", "-C", self.APP / "puma.rb", self.APP / "config.ru"],
                         stdout=subprocess.DEVNULL,
                         env={**harness.os.environ, "PORT": str(self.port),
                              "WORKERS": str(WORKERS), **self.environment(),
                              "RUBYLIB": ":".join(map(str, harness.RUBY_PATHS))})
        try:
            harness.await_true(self.has_booted, "Puma to boot")
        except Exception:
            self.__exit__()
            raise
        self.workers = children(self.pid)

    def __exit__(self, *_):
        """Workers of a master that was killed would live on for a while."""
        if self.process.poll() is None:
            self.process.terminate()
            self.wait()
        super().__exit__()

    def has_booted(self):
        """Each worker has started its threads, and has answered before."""
        if self.process.poll() is not None:
            raise RuntimeError("Puma does not start")
        tasks = [harness.threads(worker) or {} for worker in children(self.pid)]
        if len(tasks) < WORKERS or any(len(task) < 4 for task in tasks):
            return False
        try:
            return self.get("/cheap", "boot") == b"ok\n"
        except OSError:
            return False

    def get(self, path, request_id):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}",
                                         headers={"X-Request-Id": request_id})
        with urllib.request.urlopen(request, timeout=harness.DEADLINE_SECONDS) as answer:
            return answer.read()

    def load(self, seconds):
        return Process([*harness.RUBY, harness.FIXTURES / "load.rb", "--port", self.port,
                        "--duration", seconds, "--connections", CONNECTIONS],
                       stdout=subprocess.PIPE, text=True)

    def cpu_ns(self):
        return sum(map(harness.parked_cpu_ns, self.workers))

    def stop(self):
        """{request_id: cpu_ns} of all workers since they booted."""
        self.process.terminate()
        self.wait()
        truth = {}
        for worker in self.workers:
            for line in (self.folder / f"truth.{worker}").read_text().splitlines():
                request = json.loads(line)
                request_id = request["request_id"]
                before = truth.get(request_id, records.Figure(0))
                truth[request_id] = records.Figure(before + request["cpu_ns"],
                                                   before.uncertain_ns + request["uncertain_ns"])
        return truth


class PumaTest(harness.LiveTest):
    def finish(self, load):
        summary = json.loads(load.process.stdout.read())
        self.assertEqual(0, load.wait())
        self.assertEqual(0, summary["errors"])
        return summary["requests"]

    def test_every_request_of_a_cluster_gets_what_it_used(self):
        with Puma(self.folder) as puma:
            before_ns = puma.cpu_ns()
            with Recording(self.output, "-p", puma.pid, "-k", "request_id", "-k",
                           "endpoint") as recording:
                with puma.load(3) as load:
                    requests = self.finish(load)
                growth_ns = puma.cpu_ns() - before_ns
                self.assert_ended_well(recording, recording.stop())
            truth = puma.stop()
        found = recording.records()
        del truth["boot"]
        self.assertEqual(requests, len(truth) - 1)
        self.assertEqual([], records.wrong_requests(truth, records.totals_by(found), found),
                         records.books(found))
        charged_ns = sum(records.books(found, worker)["attributed_ns"] +
                         records.books(found, worker)["unattributed_ns"]
                         for worker in puma.workers)
        self.assertAlmostEqual(charged_ns, growth_ns, delta=records.BALANCE_PART * growth_ns)
        self.assertEqual({"puma"}, {record["server"] for record in
                                    records.of_kind(found, "process")})

    def test_attached_in_the_middle_of_load_only_what_was_under_way_is_cut(self):
        with Puma(self.folder) as puma:
            idle_ns = puma.cpu_ns()
            with puma.load(harness.DEADLINE_SECONDS) as load:
                self.await_work(puma, idle_ns + 200_000_000)
                with Recording(self.output, "-p", puma.pid) as recording:
                    before_ns = self.worked_ns(puma) - idle_ns
                    self.await_work(puma, idle_ns + 3 * before_ns)
                    load.process.terminate()
                    self.finish(load)
                    self.assert_ended_well(recording, recording.stop())
            truth = puma.stop()
        totals = records.totals_by(recording.records())
        self.assertEqual(set(), set(totals) - set(truth))
        # What was over before is not there; what was under way is there in part.
        seen = {request_id: truth[request_id] for request_id in totals}
        self.assertGreater(len(seen), len(truth) // 3)
        self.assertLess(len(seen), len(truth))
        wrong = records.wrong_requests(seen, totals)
        self.assertLessEqual(len(wrong), CONNECTIONS, wrong)
        # At the attach the figure of a thread that runs is up to a tick old, and made up from the
        # run queue's clocks: what is wrong with that goes to one request of each CPU at most.
        too_much = [totals[request_id]["cpu_ns"] - truth_ns
                    for request_id, truth_ns in seen.items()
                    if totals[request_id]["cpu_ns"] > truth_ns and
                    not records.is_right(totals[request_id]["cpu_ns"], truth_ns)]
        self.assertLessEqual(len(too_much), os.cpu_count(), wrong)
        self.assertLess(max(too_much, default=0), records.UNSEEN_NS, wrong)

    @staticmethod
    def worked_ns(puma):
        tasks = [harness.threads(worker) or {} for worker in puma.workers]
        return sum(cpu_ns for task in tasks for _, cpu_ns in task.values())

    def await_work(self, puma, cpu_ns):
        harness.await_true(lambda: self.worked_ns(puma) > cpu_ns, "Puma to be at work")


if __name__ == "__main__":
    harness.main()
