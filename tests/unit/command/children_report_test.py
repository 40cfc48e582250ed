# SPDX-License-Identifier: GPL-2.0-only
"""What a report says of the programs that requests start, of records of which every figure is known.
CORRELATOR names the binary."""
import csv
import io
import json
import os
import re
import subprocess
import unittest

from forged_records import START, Records

CORRELATOR = os.environ["CORRELATOR"]
MS = 10 ** 6
META = {"tool_version": "0", "kernel_release": "6.1", "machine": "x86_64", "boot_id": "b",
        "mode": "exact", "kernel_split": True, "interval_ns": 10 ** 9,
        "keys": ["request_id", "endpoint"]}


def recording(has_children=True, has_started=True):
    """Two requests of an endpoint, of which one starts a shell that starts convert; and another's."""
    found = Records().add("meta", **META, **({"children": True} if has_children else {}))
    found.add("process", comm="puma", event="found", mode="exact")
    for pid, comm in (8, "sh"), (9, "convert"):
        found.add("process", pid=pid, ppid=pid - 1, comm="puma", event="fork", mode="exact")
        found.add("process", pid=pid, ppid=pid - 1, comm=comm, event="exec", mode="exact")
    for request, endpoint, pid, tid, cpu_ms, flags in (
            ("r-1", "GET /thumb", 7, 7, 30, ()),
            ("r-1", "GET /thumb", 8, 8, 1, ("inherited", "inherited_by_exec")),
            ("r-1", "GET /thumb", 8, 8, 4, ("inherited_by_exec",)),
            ("r-1", None, 9, 9, 100, ("inherited_by_exec",)),
            ("r-1", None, 9, 10, 70, ("inherited_by_exec",)),
            ("r-2", "GET /thumb", 7, 7, 20, ()),
            ("r-3", "GET /", 7, 7, 5, ("inherited",))):
        if pid != 7 and not has_started:
            continue
        found.add("cpu", pid=pid, tid=tid, thread_name="t", request_id=request, window_ns=10 ** 9,
                  cpu_ns=cpu_ms * MS, first_ns=START, last_ns=START + 10 ** 9,
                  **({"endpoint": endpoint} if endpoint else {}),
                  **({"flags": list(flags)} if flags else {}))
    return found.data


def report(*arguments, data=None, columns="200"):
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "TZ": "UTC", "COLUMNS": columns}
    result = subprocess.run([CORRELATOR, "report", *arguments, "-"], input=data or recording(),
                            capture_output=True, timeout=60, check=False, env=environment)
    if result.returncode or result.stderr:
        raise RuntimeError(result.stderr.decode())
    return result.stdout.decode()


def rows(*arguments, **options):
    table = json.loads(report("--format", "json", *arguments, **options))
    return {row.get("key"): row for row in table["rows"]}, table


class ChildrenTest(unittest.TestCase):
    def test_an_endpoint_has_the_cpu_of_what_it_started_as_a_part_of_its_own(self):
        found, table = rows("--by", "endpoint")
        self.assertEqual((225 * MS, 175 * MS),
                         tuple(found["GET /thumb"][name] for name in ("cpu_ns", "children_cpu_ns")))
        self.assertEqual(0, found["GET /"]["children_cpu_ns"])
        self.assertEqual(175 * MS, table["total"]["children_cpu_ns"])

    def test_csv_has_the_same(self):
        found = {row["endpoint"]: row for row in csv.DictReader(
            io.StringIO(report("--format", "csv", "--by", "endpoint")))}
        self.assertEqual((str(175 * MS), "0"), (found["GET /thumb"]["children_cpu_ns"],
                                                found["GET /"]["children_cpu_ns"]))
        unknown = report("--format", "csv", "--by", "endpoint",
                         data=recording(has_children=False, has_started=False))
        self.assertEqual({""}, {row["children_cpu_ns"]
                                for row in csv.DictReader(io.StringIO(unknown))})

    def test_so_has_a_request(self):
        found, _ = rows("--by", "request_id")
        self.assertEqual(175 * MS, found["r-1"]["children_cpu_ns"])
        self.assertEqual(0, found["r-2"]["children_cpu_ns"])

    def test_by_comm_each_program_has_its_own(self):
        table = json.loads(report("--format", "json", "--by", "endpoint,comm"))
        used = {(row["keys"].get("endpoint"), row["keys"]["comm"]): row["cpu_ns"] // MS
                for row in table["rows"]}
        self.assertEqual(170, used["GET /thumb", "convert"])
        self.assertEqual(5, used["GET /thumb", "sh"])
        self.assertEqual(50, used["GET /thumb", "puma"])

    def test_a_table_has_a_column_of_it(self):
        text = report()
        self.assertRegex(text, r"(?m)^endpoint +requests .* children ")
        self.assertRegex(text, r"(?m)^GET /thumb +2 .* 225\.0 ms +175\.0 ms ")
        self.assertRegex(text, r"(?m)^GET / +1 .* 5\.000 ms +0 ns ")
        self.assertLess(text.index("GET /thumb"), text.index("GET / "))
        by_children = report("--sort", "children", "--columns", "cpu,children")
        self.assertRegex(by_children, r"(?m)^endpoint +cpu +children$")

    def test_only_where_something_was_started(self):
        self.assertNotIn("children", report(data=recording(has_started=False)))

    def test_what_was_not_measured_is_not_zero(self):
        for has_children, said in (True, "0 ns"), (False, "-"):
            text = report("--columns", "children",
                          data=recording(has_children=has_children, has_started=False))
            self.assertRegex(text, rf"(?m)^GET /thumb +{said}$")

    def test_the_story_names_the_programs(self):
        text = report("--request", "r-1")
        said = re.search(r"(?m)^children +(.*)\n +(.*)\n +(.*)\n", text)
        self.assertEqual(("175.0 ms of the cpu, in programs that it started", "170.0 ms convert",
                          "5.000 ms sh"), said.groups())
        story = json.loads(report("--request", "r-1", "--format", "json"))
        self.assertEqual(175 * MS, story["request"]["children_cpu_ns"])
        self.assertEqual({(7, 7): 0, (8, 8): 5 * MS, (9, 9): 100 * MS, (9, 10): 70 * MS},
                         {(thread["pid"], thread["tid"]): thread["children_cpu_ns"]
                          for thread in story["threads"] if "children_cpu_ns" in thread})
        self.assertNotIn("children ", report("--request", "r-2"))

    def test_more_programs_than_are_shown_are_summed_up(self):
        found = Records().add("meta", **META, children=True)
        for pid in range(100, 200):
            found.add("process", pid=pid, ppid=7, comm=f"p{pid}", event="exec", mode="exact")
            found.add("cpu", pid=pid, tid=pid, request_id="r", window_ns=10 ** 9, cpu_ns=MS,
                      first_ns=START, last_ns=START + 1, flags=["inherited_by_exec"])
        text = report("--request", "r", data=found.data)
        self.assertIn("92.00 ms in others", text)

    def test_what_a_child_did_before_its_exec_is_no_leftover(self):
        _, table = rows("--by", "request_id")
        self.assertEqual(5 * MS, table["inherited"]["cpu_ns"])
        self.assertFalse(json.loads(report("--request", "r-1", "--format", "json"))
                         ["request"]["inherited"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
