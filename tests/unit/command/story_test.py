# SPDX-License-Identifier: GPL-2.0-only
"""report --request: the story of one request against a recording of random figures whose truth is
worked out here. CORRELATOR names the binary."""
import collections
import json
import os
import random
import subprocess
import tempfile
import unittest

import msgpack

CORRELATOR = os.environ["CORRELATOR"]
OK, FAILURE, USAGE = 0, 1, 2
START = 1_700_000_000 * 10 ** 9
HOST = "web"


def run(*arguments, columns="100", **options):
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "TZ": "UTC", "COLUMNS": columns}
    return subprocess.run([CORRELATOR, "report", *map(str, arguments)], env=environment,
                          capture_output=True, timeout=60, check=False, **options)


class Recording:
    """Threads on two CPUs, each busy with one request after the other."""

    def __init__(self, seed, with_slices=True):
        self.random = random.Random(seed)
        self.with_slices = with_slices
        self.data = b""
        self.number = 0
        self.slices = collections.defaultdict(list)  # of each request: tid, state, start, end, cpu
        self.figures = collections.defaultdict(collections.Counter)  # of each thread and request
        self.spans = {}
        self.write("process", START, comm="puma", event="found", mode="exact")
        self.simulate()

    def write(self, kind, wall, **fields):
        self.number += 1
        stamp = (wall // 10 ** 9).to_bytes(4, "big") + (wall % 10 ** 9).to_bytes(4, "big")
        self.data += b"\x92\xd7\x00" + stamp + msgpack.packb({
            "schema": 1, "kind": kind, "record_id": f"b:1:1:{self.number}", "host_name": HOST,
            "pid": 7, **fields})

    def slice(self, tid, request, state, start, end, cpu=None):
        self.slices[request].append((tid, state, start, end, cpu))
        figures = self.figures[tid, request]
        field = {"running": "cpu_ns", "run_queue": "run_queue_ns"}.get(state, "blocked_ns")
        figures[field] += end - start
        figures["uninterruptible_ns"] += end - start if state == "uninterruptible" else 0
        first, last = self.spans.get((tid, request), (start, end))
        self.spans[tid, request] = min(first, start), max(last, end)
        fields = {} if cpu is None else {"cpu_number": cpu, "cpu_ns": end - start}
        if self.with_slices:
            self.write("slice", end, tid=tid, thread_name=f"t{tid}", request_id=request, state=state,
                       start_ns=start, end_ns=end, **fields)

    def simulate(self):
        free = {0: START, 1: START}
        ready = {tid: START + tid for tid in (11, 12, 13)}
        request = {tid: f"r-{tid}-0" for tid in ready}
        for number in range(1, 600):
            tid = min(ready, key=ready.get)
            cpu = min(free, key=free.get)
            start = max(ready[tid], free[cpu])
            if start > ready[tid]:
                self.slice(tid, request[tid], "run_queue", ready[tid], start)
            end = start + self.random.randrange(1000, 3_000_000)
            self.slice(tid, request[tid], "running", start, end, cpu)
            free[cpu] = ready[tid] = end
            what = self.random.random()
            if what < 0.3:
                request[tid] = self.random.choice(["", f"r-{tid}-{number}"])
            elif what < 0.7:
                ready[tid] += self.random.randrange(1000, 9_000_000)
                self.slice(tid, request[tid], self.random.choice(["blocked", "uninterruptible"]),
                           end, ready[tid])
        window = max(ready.values()) - START
        for (tid, name), figures in self.figures.items():
            first, last = self.spans[tid, name]
            self.write("cpu", START + window, tid=tid, thread_name=f"t{tid}", request_id=name,
                       window_ns=window, first_ns=first, last_ns=last,
                       **{field: figures[field] for field in
                          ("cpu_ns", "run_queue_ns", "blocked_ns", "uninterruptible_ns")})

    def requests(self):
        return sorted(name for name in self.slices if name)

    def beside(self, name):
        """CPU of the others, by thread and request, in the request's time."""
        start = min(part[2] for part in self.slices[name])
        end = max(part[3] for part in self.slices[name])
        sums = collections.Counter()
        for other, parts in self.slices.items():
            for tid, state, first, last, _ in parts:
                if other != name and state == "running":
                    sums[tid, other] += max(0, min(last, end) - max(first, start))
        return {key: value for key, value in sums.items() if value}

    def ahead(self, name):
        """The part of it on the CPU that the request waited for, an instant at a time."""
        sums = collections.Counter()
        parts = self.slices[name]
        for wait, after in zip(parts, parts[1:]):
            if wait[1] != "run_queue":
                continue
            for other, others in self.slices.items():
                for tid, state, first, last, cpu in others:
                    if other != name and state == "running" and cpu == after[4]:
                        sums[tid, other] += max(0, min(last, wait[3]) - max(first, wait[2]))
        return {key: value for key, value in sums.items() if value}


class StoryTest(unittest.TestCase):
    def story(self, recording, name, *arguments):
        result = run("--request", name, "--format", "json", *arguments, "-", input=recording.data)
        self.assertEqual((OK, b""), (result.returncode, result.stderr))
        return json.loads(result.stdout)

    def rows(self, recording):
        result = run("--by", "request_id", "--format", "ndjson", "-", input=recording.data)
        rows = map(json.loads, result.stdout.splitlines())
        return {row["key"]: row for row in rows if row["row"] == "group"}

    def test_it_is_the_row_of_the_request_and_all_that_it_did(self):
        for seed in range(3):
            recording = Recording(seed)
            rows = self.rows(recording)
            names = recording.requests()
            self.assertEqual(sorted(rows), names)
            for name in random.Random(seed).sample(names, 6):
                with self.subTest(seed=seed, name=name):
                    self.check_story(recording, name, rows[name])

    def check_story(self, recording, name, row):
        story = self.story(recording, name)
        for field in ("cpu_ns", "run_queue_ns", "blocked_ns", "uninterruptible_ns", "wall_ns",
                      "first_ns", "last_ns", "share_percent"):
            self.assertEqual(row[field], story["request"][field], field)
        self.assertEqual("slice", story["timeline"]["by"])
        self.assertEqual([(part["tid"], part["state"], part["start_ns"], part["end_ns"],
                           part.get("cpu_number")) for part in story["slices"]],
                         recording.slices[name])
        self.assertEqual(row["cpu_ns"], sum(part.get("cpu_ns", 0) for part in story["slices"]))
        others = {(other["tid"], other.get("request_id", "")): other for other in story["beside"]}
        self.assertEqual({key: other["cpu_ns"] for key, other in others.items()},
                         recording.beside(name))
        self.assertEqual({key: other["ahead_ns"] for key, other in others.items()
                          if other["ahead_ns"]}, recording.ahead(name))
        self.assertTrue(story["beside_complete"])

    def test_without_slices_it_is_told_by_windows(self):
        recording = Recording(5, with_slices=False)
        for name in recording.requests()[:6]:
            story = self.story(recording, name)
            exact = recording.beside(name)
            self.assertEqual("window", story["timeline"]["by"])
            self.assertEqual([], story["slices"])
            self.assertEqual(story["request"]["cpu_ns"],
                             sum(part["cpu_ns"] for part in story["windows"]))
            for other in story["beside"]:
                cpu_ns = exact.get((other["tid"], other.get("request_id", "")), 0)
                if other["at_most"]:
                    self.assertGreaterEqual(other["cpu_ns"], cpu_ns)
                else:
                    self.assertEqual(other["cpu_ns"], cpu_ns)

    def test_the_order_of_the_records_does_not_matter(self):
        recording = Recording(7)
        name = recording.requests()[3]
        story = self.story(recording, name)
        entries = recording.data.split(b"\x92\xd7\x00")[1:]
        random.Random(1).shuffle(entries)
        recording.data = b"".join(b"\x92\xd7\x00" + entry for entry in entries)
        shuffled = self.story(recording, name)
        for part in "slices", "windows", "beside":
            self.assertEqual(story[part], shuffled[part])

    def test_a_record_that_is_there_twice_is_told_once(self):
        recording = Recording(8)
        name = recording.requests()[0]
        story = self.story(recording, name)
        recording.data += recording.data
        self.assertEqual(story["request"], self.story(recording, name)["request"])

    def test_a_file_and_a_pipe_say_the_same_and_a_pipe_has_every_slice(self):
        recording = Recording(9)
        name = max(recording.requests(), key=lambda request: len(recording.slices[request]))
        with tempfile.NamedTemporaryFile() as file:
            file.write(recording.data)
            file.flush()
            from_file = run("--request", name, file.name, columns="")
        from_pipe = run("--request", name, "-", input=recording.data, columns="")
        self.assertEqual(OK, from_file.returncode)
        self.assertEqual(from_file.stdout, from_pipe.stdout)
        text = from_file.stdout.decode()
        self.assertNotIn("more", text)
        for state in "running", "run_queue", "blocked", "uninterruptible":
            what = state.replace("_", " ")
            self.assertEqual(sum(part[1] == state for part in recording.slices[name]),
                             sum(f"  {what}" in line and line[0].isdigit()
                                 for line in text.splitlines()), what)

    def test_a_request_that_is_not_there_is_named_with_the_remedy(self):
        recording = Recording(1)
        for arguments, said in (
                (["--request", "r-11"], "no request r-11 in the recording; like it: r-11-"),
                (["--request", "x"], "no request x in the recording (all are in"),
                (["--request", "r-11-0", "--where", "tid=99"], "excluded by --where")):
            result = run(*arguments, "-", input=recording.data)
            self.assertEqual((FAILURE, b""), (result.returncode, result.stdout))
            self.assertIn(said, result.stderr.decode())

    def test_without_request_id_it_says_how_to_record_it(self):
        recording = Recording(1)
        recording.data = recording.data.replace(b"request_id", b"request_no")
        result = run("--request", "r-11-0", "-", input=recording.data)
        self.assertEqual(FAILURE, result.returncode)
        self.assertIn(b"record with `--key request_id'", result.stderr)

    def test_a_full_disk_is_a_failure(self):
        recording = Recording(1)
        with tempfile.NamedTemporaryFile() as file, open("/dev/full", "w") as full:
            file.write(recording.data)
            file.flush()
            result = subprocess.run([CORRELATOR, "report", "--request", "r-11-0", file.name],
                                    stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
        self.assertEqual(FAILURE, result.returncode)
        self.assertIn(b"cannot write the report", result.stderr)


if __name__ == "__main__":
    unittest.main()
