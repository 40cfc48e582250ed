# SPDX-License-Identifier: GPL-2.0-only
"""The report subcommand as a program: exit codes, streams, pipes. CORRELATOR names the binary."""
import collections
import csv
import functools
import io
import json
import os
import pathlib
import random
import re
import resource
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import msgpack

import figure_list
import forged_records

CORRELATOR = os.environ["CORRELATOR"]
GOLDEN = pathlib.Path(__file__).resolve().parents[3] / "fixtures" / "golden"
RECORDING = GOLDEN / "shop.rec"
OK, FAILURE, USAGE = 0, 1, 2


def report(*arguments, **options):
    environment = {"PATH": os.environ["PATH"], "COLUMNS": "80", "LC_ALL": "C", "TZ": "UTC"}
    return subprocess.run([CORRELATOR, "report", *map(str, arguments)], env=environment,
                          capture_output=True, timeout=60, **options)


COSTS = ("cpu_ns user_ns kernel_ns run_queue_ns blocked_ns slices ambiguous_ns migrations stolen_ns"
         " split_error_ns uninterruptible_ns syscalls").split()


ALERT = 5


class EverywhereTest(unittest.TestCase):
    """One recording, whichever way it is told: what its records add up to, to the nanosecond."""

    def total(self, *arguments):
        return json.loads(self.say(*arguments, "-f", "json"))

    @functools.lru_cache(maxsize=None)
    def say(self, *arguments):
        result = report(*arguments)
        self.assertEqual((OK, b""), (result.returncode, result.stderr))
        return result.stdout.decode()

    def csv_rows(self, *arguments):
        return list(csv.DictReader(io.StringIO(self.say(*arguments, "-f", "csv"))))

    def test_each_format_has_the_sums_of_the_records(self):
        @functools.lru_cache(maxsize=None)
        def run(*words):
            return subprocess.run([CORRELATOR, *words, RECORDING], capture_output=True, timeout=60,
                                  check=True).stdout.decode()

        records = [record for record in map(json.loads, run("dump").splitlines()) if record["kind"] == "cpu"]
        for name in "cpu_ns", "user_ns", "kernel_ns", "run_queue_ns", "blocked_ns", "syscalls":
            total = sum(record[name] for record in records)
            with self.subTest(name=name):
                self.assertEqual(total, self.total(RECORDING)["total"][name])
                self.assertEqual(total, self.total("--by", "tid", RECORDING)["total"][name])
                self.assertEqual(total, sum(step[name] for step in self.total("--over-time", RECORDING)["steps"]))
                for side in "before", "after":
                    self.assertEqual(total, self.total("--diff", RECORDING, RECORDING)["all"][side][name])
                    self.assertEqual(total, int(self.csv_rows("--diff", RECORDING, RECORDING)[-1][f"{side}_{name}"]))
                for arguments in ((RECORDING,), ("--over-time", RECORDING)):
                    *rows, last = self.csv_rows(*arguments)
                    self.assertEqual(("total", total), (last["row"], int(last[name])))
                    lines = [json.loads(line) for line in self.say(*arguments, "-f", "ndjson").splitlines()]
                    self.assertEqual({"total": total}, {line["row"]: line[name] for line in lines[-1:]})
                    for parts in rows, lines[:-1]:
                        self.assertEqual(total, sum(int(row[name]) for row in parts if row["row"] not in ("step", "total")))
                exported = csv.DictReader(io.StringIO(run("export", "-f", "csv")))
                self.assertEqual(total, sum(int(row[name]) for row in exported))
                self.assertEqual(run("dump"), run("export", "-f", "ndjson"))
        page = self.page()
        self.assertEqual(sum(record["cpu_ns"] for record in records), page["total"]["cpu_ns"])
        told = re.findall(r'^correlator_cpu_seconds_total\{.*\} (\d+)\.(\d{9}) ', run("export", "-f", "openmetrics"), re.M)
        self.assertEqual(page["total"]["cpu_ns"], sum(int("".join(parts)) for parts in told))
        self.assertRegex(self.say(RECORDING), r"(?m)^total +3 +470\.0 ms")
        self.assertEqual(470_001_234, page["total"]["cpu_ns"])

    def page(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "page.html"
            self.say("--html", path, RECORDING)
            text = path.read_text()
        return json.loads(re.search(r'id="report-0">\n(.*?)</script>', text, re.S)[1])

    def test_of_two_hosts_each_has_its_own_and_no_file_counts_twice(self):
        with tempfile.TemporaryDirectory() as folder:
            other = pathlib.Path(folder) / "web-2.rec"
            # Another host's recorder, which numbers its records by another boot.
            other.write_bytes(RECORDING.read_bytes().replace(b"web-1", b"web-2").replace(b"b0071d:", b"c0071d:"))
            one = self.total("--by", "host_name", RECORDING)
            both = self.total("--by", "host_name", RECORDING, other, RECORDING)
            self.assertEqual({"web-1", "web-2"}, {row["key"] for row in both["rows"]})
            for row in both["rows"]:
                self.assertEqual(one["rows"][0]["cpu_ns"], row["cpu_ns"])
            for name in COSTS:
                self.assertEqual(2 * one["total"][name], both["total"][name])
            self.assertEqual(2 * one["books"]["exec_ns"], both["books"]["exec_ns"])
            rows = self.total("--by", "endpoint,host_name", RECORDING, other)["rows"]
            self.assertEqual(4, len({(row["keys"]["endpoint"], row["keys"]["host_name"]) for row in rows}))
            table = self.say("--by", "host_name", RECORDING, other, RECORDING)
            self.assertRegex(table, r"13 records were read again")
            self.assertRegex(table, r"(?m)^web-2 +470\.0 ms")


class QuestionsTest(unittest.TestCase):
    """The table of questions in reader/report/README.md."""

    def test_each_command_answers_its_question(self):
        text = (GOLDEN.parents[1] / "correlator/reader/report/README.md").read_text()
        rows = re.findall(r"^\| [^|]+\? \| `correlator report ([^`]+)` \| ([^|]+) \|$", text, re.M)
        self.assertEqual(17, len(rows))
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        recorded_io = pathlib.Path(folder.name) / "io.rec"
        recorded_io.write_bytes(forged_records.io())
        for command, said in rows:
            recording = recorded_io if "--io" in command else RECORDING
            words = [recording if word.endswith(".rec") else word.replace("ID", "req-1")
                     for word in command.split()]
            result = report(*words)
            self.assertEqual((OK, ""), (result.returncode, result.stderr.decode()), command)
            self.assertIn(said, result.stdout.decode(), command)


def used(second, cpu_ns, recorder=1, **fields):
    """A window of some recorder, in which a request used so much."""
    stamp = (1_700_000_000 + second).to_bytes(4, "big") + (7_000_000).to_bytes(4, "big")
    return b"\x92\xd7\x00" + stamp + msgpack.packb({
        "schema": 1, "kind": "cpu", "record_id": f"b:{recorder}:1:{second}", "host_name": "web",
        "pid": 7, "tid": 7, "request_id": "r", "window_ns": 10 ** 9, "cpu_ns": cpu_ns, **fields})


class AlertTest(unittest.TestCase):
    """What the recording would have fired: its sums are those of the golden reports."""

    def test_each_change_is_a_line_and_the_status_says_that_one_fired(self):
        when = "2023-11-14T22:13:21.123Z web-1 firing: "
        for expression, wanted in [
                ("max(cpu) > 100ms by endpoint", ["endpoint=GET /orders: is at 270 ms"]),
                ("max(cpu) >= 80ms by endpoint", ["endpoint=GET /orders: is at 270 ms",
                                                  "endpoint=POST /cart/\u00e9t\u00e9: is at 80 ms"]),
                ("sum(cpu) > 450ms", ["is at 450 ms"]),
                ("unattributed > 3%", ["is at 3.191 %"]),
                ("lost > 1", ["is at 2"])]:
            result = report("--alert", expression, RECORDING)
            self.assertEqual((ALERT, b""), (result.returncode, result.stderr))
            self.assertEqual(sorted(f"{when}{expression}: {line}" for line in wanted),
                             sorted(result.stdout.decode().splitlines()))

    def test_nothing_is_no_line_and_no_status(self):
        for arguments in (["--alert", "max(cpu) > 270.1ms by endpoint", "--alert", "lost > 2"],
                          ["--alert", "lost > 0", "--until", "2020-01-01"],
                          ["--alert", "lost > 0 for 2s"]):
            result = report(*arguments, RECORDING)
            self.assertEqual((OK, b"", b""), (result.returncode, result.stdout, result.stderr))

    def test_the_same_record_twice_is_looked_at_once(self):
        result = report("--alert", "lost > 2", RECORDING, RECORDING)
        self.assertEqual((OK, b""), (result.returncode, result.stdout))

    def test_a_change_is_told_while_the_writer_goes_on_and_so_is_its_end(self):
        with subprocess.Popen([CORRELATOR, "report", "--alert", "sum(cpu) > 5ns", "-"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            process.stdin.write(used(1, 6) + used(2, 4))
            process.stdin.flush()
            self.assertEqual(b"2023-11-14T22:13:21.007Z web firing: sum(cpu) > 5ns: is at 6 ns\n",
                             process.stdout.readline())
            output, _ = process.communicate(used(3, 5), timeout=60)
        self.assertEqual(b"2023-11-14T22:13:22.007Z web resolved: sum(cpu) > 5ns: is at 4 ns\n",
                         output)
        self.assertEqual(ALERT, process.returncode)

    def test_a_writer_is_not_waited_for_when_nobody_reads(self):
        with subprocess.Popen([CORRELATOR, "report", "--alert", "sum(cpu) > 5ns", "-"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
            process.stdout.close()
            with self.assertRaises(BrokenPipeError):
                for second in range(10000):
                    process.stdin.write(used(second, second % 2 * 9))
        self.assertEqual(ALERT, process.returncode)

    def test_so_many_recorders_and_no_more(self):
        data = b"".join(used(1, 6, recorder) for recorder in range(256))
        result = report("--alert", "sum(cpu) > 5ns", "-", input=data)
        self.assertEqual((ALERT, 256), (result.returncode, result.stdout.count(b"firing")))
        result = report("--alert", "sum(cpu) > 5ns", "-", input=data + used(1, 6, 256))
        self.assertEqual(FAILURE, result.returncode)
        self.assertIn(b"standard input: of more than 256 recorders", result.stderr)

    def test_a_pipe_is_read_and_what_is_damaged_is_told(self):
        data = RECORDING.read_bytes()
        result = report("--alert", "lost > 0", "-", input=data)
        self.assertEqual(ALERT, result.returncode)
        damaged = data[:20] + bytes(40) + data[60:]
        self.assertEqual(FAILURE, report("--alert", "lost > 1000", "-", input=damaged).returncode)
        self.assertEqual(ALERT, report("--alert", "lost > 0", "-", input=damaged).returncode)
        # Whatever comes behind it.
        self.assertEqual(FAILURE, report("--alert", "lost > 1000", "-", RECORDING,
                                         input=damaged).returncode)
        self.assertEqual(FAILURE, report("--alert", "lost > 0", "/nonexistent",
                                         RECORDING).returncode)

    def test_what_cannot_be_is_told(self):
        for code, arguments, says in [
                (USAGE, ["--alert", "nope > 1", RECORDING], b"  nope > 1\ncorrelator: error:   ^\n"),
                (USAGE, ["--alert", "lost > 1", "--alert", "lost ~ 1", RECORDING], b"not a comparison"),
                (FAILURE, ["--alert", "max(cpu) > 1s by tenant", RECORDING], b"no record has the key tenant; keys that occur: request_id, endpoint"),
                (FAILURE, ["--alert", "sum(cpu) > 1s by pid", RECORDING], b"no record has the key pid"),
                # Whatever of it is looked at.
                (FAILURE, ["--alert", "max(cpu) > 1s by tenant", "--since", "2030-01-01", RECORDING],
                 b"; keys that occur: request_id, endpoint"),
                (FAILURE, ["--alert", "lost > 1", "/dev/null"], b"no records to look at"),
                (FAILURE, ["--alert", "lost > 1", "/nonexistent"], b"/nonexistent")]:
            result = report(*arguments)
            self.assertEqual((code, b""), (result.returncode, result.stdout))
            self.assertIn(says, result.stderr)
        anonymous = used(1, 6).replace(b"request_id", b"request_no")
        result = report("--alert", "max(cpu) > 1s", "-", input=anonymous)
        self.assertEqual((FAILURE, b""), (result.returncode, result.stdout))
        self.assertIn(b"no record has the key request_id; keys that occur: request_no", result.stderr)
        self.assertEqual(ALERT, report("--alert", "sum(cpu) > 5ns by request_no", "-",
                                       input=anonymous).returncode)

    def test_a_full_disk_is_told(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([CORRELATOR, "report", "--alert", "lost > 0", RECORDING], stdout=full,
                                    stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(FAILURE, result.returncode)
        self.assertIn(b"cannot write the alerts: No space left on device", result.stderr)

    def test_a_file_that_may_not_grow_is_told(self):
        with tempfile.TemporaryFile() as file:
            result = subprocess.run([CORRELATOR, "report", RECORDING], stdout=file, stderr=subprocess.PIPE, timeout=60,
                                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
        self.assertEqual(FAILURE, result.returncode)
        self.assertIn(b"File too large", result.stderr)


class Story:
    """A recording of random figures, and their sums as they are added up here."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.data = b""
        self.number = 0
        self.sums = collections.defaultdict(collections.Counter)
        self.places = {}  # of each request, by what: where it was last
        self.held = collections.defaultdict(collections.Counter)  # until its endpoint is known
        self.books = collections.Counter()
        self.residuals = []
        for pid in 7, 70:
            self.write("process", pid, comm=f"ruby{pid}", event="found", mode="exact")
        for _ in range(60):
            self.window()
        for figures in self.held.values():
            self.sums["no endpoint"].update(figures)

    def write(self, kind, pid, **fields):
        self.number += 1
        stamp = (1_700_000_000 + self.number).to_bytes(4, "big") + bytes(4)
        self.data += b"\x92\xd7\x00" + stamp + msgpack.packb({
            "schema": 1, "kind": kind, "record_id": f"b:1:1:{self.number}", "host_name": "web",
            "pid": pid, **fields})

    def window(self):
        """Some cpu records of one process, and what the kernel charged for them."""
        pid = self.random.choice((7, 70))
        charged = collections.Counter()
        for _ in range(self.random.randrange(1, 6)):
            where = self.random.choice(("attributed", "attributed", "unattributed", "overflow"))
            cpu_ns = self.record(pid, where)
            charged[where] += cpu_ns
        residual = self.random.randrange(-9, 10)
        times = {f"{where}_ns": charged[where]
                 for where in ("attributed", "unattributed", "overflow")}
        times["exec_ns"] = charged.total() + residual
        times["own_cpu_ns"] = self.random.randrange(1000)
        times["events_lost"] = self.random.randrange(3)
        self.books.update(times)
        self.residuals.append((residual, times["exec_ns"]))
        self.write("balance", pid, window_ns=10 ** 9, residual_ns=residual, **times)

    def record(self, pid, where):
        figures = {name: self.random.randrange(10 ** 6) for name in COSTS}
        figures["cpu_ns"] = figures["user_ns"] + figures["kernel_ns"]
        voluntary, involuntary = self.random.randrange(100), self.random.randrange(100)
        tid = self.random.randrange(1, 5)
        fields = {"request_id": ""}
        if where == "attributed":
            fields["request_id"] = f"r{self.random.randrange(6)}"
            # One never has an endpoint, the others have several, now and then.
            if self.random.random() < 0.3 and fields["request_id"] != "r5":
                fields["endpoint"] = f"GET /{self.random.randrange(3)}"
        if where == "overflow":
            fields["flags"] = ["overflow"]
        self.write("cpu", pid, tid=tid, thread_name=f"worker {tid}", window_ns=10 ** 9, **fields,
                   switches_voluntary=voluntary, switches_involuntary=involuntary, **figures)
        figures["switches"] = voluntary + involuntary
        ran = ("pid", f"{pid}"), ("tid", f"{pid}/{tid}"), ("comm", f"ruby{pid}"), \
            ("thread_name", f"worker {tid}")
        self.note(figures, "total", *ran)
        if where == "attributed":
            self.note_request(figures, fields["request_id"], fields.get("endpoint"), ran)
        else:
            self.note(figures, where)
        return figures["cpu_ns"]

    def note_request(self, figures, request_id, endpoint, ran):
        """What it uses without an endpoint is the last one's, or the first one's."""
        self.note(figures, ("request_id", request_id))
        for name in (*ran, ("request_id", request_id)):
            self.places[name[0], request_id] = name
        if endpoint:
            self.places["endpoint", request_id] = "endpoint", endpoint
            self.sums["endpoint", endpoint].update(self.held.pop(request_id, {}))
        if name := self.places.get(("endpoint", request_id)):
            self.note(figures, name)
        else:
            self.held[request_id].update(figures)

    def note(self, figures, *names):
        for name in names:
            self.sums[name].update(figures)

    def count_requests(self, name):
        return list(self.places.values()).count(name)


class ReportTest(unittest.TestCase):
    def report_story(self, story, *options):
        output = self.check(OK, "-f", "json", *options, "-", input=story.data)
        return json.loads(output)

    def check_row(self, story, name, row):
        self.assertEqual(dict(story.sums[name]),
                         {cost: row[cost] for cost in (*COSTS, "switches")}, name)
        self.assertAlmostEqual(100 * story.sums[name]["cpu_ns"] / story.sums["total"]["cpu_ns"],
                               row["share_percent"], 5)

    def test_each_row_is_the_sum_of_its_records(self):
        for seed in range(3):
            story = Story(seed)
            for by in "request_id", "endpoint", "pid", "tid", "comm", "thread_name":
                with self.subTest(seed=seed, by=by):
                    parsed = self.report_story(story, "--by", by)
                    rows = {(by, row["key"]): row for row in parsed["rows"]}
                    self.assertEqual({name for name in story.sums if name[0] == by}, set(rows))
                    for name, row in rows.items():
                        self.check_row(story, name, row)
                        self.assertEqual(story.count_requests(name), row.get("requests", 0))
                    self.check_row(story, "total", parsed["total"])
                    self.assertEqual(6, parsed["total"]["requests"])
                    for part in "unattributed", "overflow":
                        self.assertEqual(by in ("request_id", "endpoint"), part in parsed)
                        if part in parsed:
                            self.check_row(story, part, parsed[part])
                    self.assertEqual(by == "endpoint", "without_key" in parsed)
                    if by == "endpoint":
                        self.check_row(story, "no endpoint", parsed["without_key"])
                        self.assertEqual(1, parsed["without_key"]["requests"])

    def test_all_steps_are_the_sum_of_their_records(self):
        for seed, step in ((0, None), (1, "7s"), (2, "100ms"), (3, "1h")):
            with self.subTest(seed=seed, step=step):
                story = Story(seed)
                parsed = self.report_story(story, "--over-time", "--by", "endpoint",
                                           *(["--step", step] if step else []))
                sums = collections.defaultdict(collections.Counter)
                for one in parsed["steps"]:
                    self.assertLess(one["start_ns"], one["end_ns"])
                    sums["total"].update({name: one[name] for name in (*COSTS, "switches")})
                    for group in one["groups"]:
                        name = ("endpoint", group["key"]) if "key" in group else "no endpoint"
                        sums[name].update({cost: group[cost] for cost in (*COSTS, "switches")})
                    for part in "unattributed", "overflow":
                        sums[part].update({cost: one[part][cost] for cost in (*COSTS, "switches")
                                           if part in one})
                for name, figures in sums.items():
                    self.assertEqual(dict(story.sums[name]), dict(figures), name)
                self.assertEqual(6, sum(one.get("requests", 0) for one in parsed["steps"]))
                starts = [one["start_ns"] for one in parsed["steps"]]
                self.assertEqual(sorted(set(starts)), starts)
                if step == "1h":
                    self.assertEqual(1, len(starts))
                if step == "7s":
                    self.assertEqual({0}, {start % 7_000_000_000 for start in starts})

    def write_requests(self, path, seed, factor):
        """500 requests, whose CPU is so much more."""
        draw = random.Random(seed)
        with open(path, "wb") as file:
            for number in range(500):
                cpu_ns, wait_ns = (int(1e6 * draw.lognormvariate(0, 0.5)) for _ in range(2))
                fields = {
                    "schema": 1, "kind": "cpu", "record_id": f"b:1:{seed}:{number}", "host_name": "web",
                    "pid": 7, "tid": 7, "request_id": f"{number}", "endpoint": "GET /",
                    "cpu_ns": int(factor * cpu_ns), "first_ns": 10 ** 18,
                    "last_ns": 10 ** 18 + cpu_ns + wait_ns}
                file.write(b"\x92\xd7\x00" + (1_700_000_000).to_bytes(4, "big") + bytes(4) +
                           msgpack.packb(fields))

    def test_a_change_is_told_from_chance(self):
        with tempfile.TemporaryDirectory() as name:
            before, same, more = (f"{name}/{file}" for file in ("before", "same", "more"))
            for path, seed, factor in (before, 1, 1), (same, 2, 1), (more, 3, 1.2):
                self.write_requests(path, seed, factor)
            parsed = json.loads(self.check(OK, "--diff", "-f", "json", before, same))
            self.assertEqual((8, 0), (parsed["tested"], parsed["changed"]))
            self.assertIn("no significant change in 8 figures",
                          self.check(OK, "--diff", before, same))
            parsed = json.loads(self.check(OK, "--diff", "-f", "json", before, more))
            row, = parsed["rows"]
            self.assertTrue(row["cpu_mean"]["changed"])
            self.assertLess(0, row["cpu_mean"]["low_ns"])
            self.assertFalse(row["wall_mean"]["changed"])
            lines = [json.loads(line) for line in
                     self.check(OK, "--diff", "-f", "ndjson", before, more).splitlines()]
            self.assertEqual([{"row": "group", "by": "endpoint", **row},
                              {"row": "all", "by": "endpoint", **parsed["all"]}], lines)
            cells, _ = csv.DictReader(io.StringIO(self.check(OK, "--diff", "-f", "csv", before, more)))
            self.assertEqual(["500", "true", "false", str(row["cpu_mean"]["after_ns"])],
                             [cells[name] for name in ("before_requests", "cpu_mean_changed",
                                                       "wall_mean_changed", "cpu_mean_after_ns")])
            for path, side in (before, "before"), (more, "after"):
                whole, = json.loads(self.check(OK, "-f", "json", path))["rows"]
                self.assertEqual(whole["requests"], row[side]["requests"])
                for figure in "cpu_mean", "cpu_p99", "wall_mean", "wall_p99":
                    self.assertEqual(whole[f"{figure}_ns"], row[figure][f"{side}_ns"])

    def test_the_books_are_the_sum_of_the_balance_records(self):
        for seed in range(3):
            with self.subTest(seed=seed):
                story = Story(seed)
                books = self.report_story(story)["books"]
                for name, value in story.books.items():
                    self.assertEqual(value, {**books, **books["losses"]}[name], name)
                residual = sum(residual for residual, _ in story.residuals)
                self.assertEqual(residual, books["residual_ns"])
                self.assertAlmostEqual(1e6 * residual / story.books["exec_ns"],
                                       books["residual_ppm"], 4)
                worst = max(story.residuals, key=lambda pair: abs(pair[0]))
                self.assertEqual(worst, (books["worst_residual_ns"], books["worst_exec_ns"]))
                self.assertTrue(books["balanced"] and books["matches_records"])

    def test_the_first_rows_and_the_hidden_ones_are_all_of_them(self):
        story = Story(5)
        parsed = self.report_story(story, "--by", "request_id", "--top", "2")
        order = sorted((name for name in story.sums if name[0] == "request_id"),
                       key=lambda name: -story.sums[name]["cpu_ns"])
        self.assertEqual([name[1] for name in order[:2]], [row["key"] for row in parsed["rows"]])
        hidden = sum((story.sums[name] for name in order[2:]), collections.Counter())
        self.assertEqual(len(order) - 2, parsed["hidden"]["groups"])
        self.assertEqual(dict(hidden), {cost: parsed["hidden"][cost] for cost in hidden})

    def check(self, code, *arguments, says="", **options):
        result = report(*arguments, **options)
        error = result.stderr.decode()
        self.assertEqual(code, result.returncode, error)
        self.assertIn(says, error)
        if code == OK:
            self.assertEqual("", error)
        else:
            self.assertEqual(b"", result.stdout)
        return result.stdout.decode()

    def body(self, text):
        """Without the first line, which names the file."""
        return text.split("\n", 1)[1]

    def golden(self, name):
        return (GOLDEN / name).read_text(encoding="utf-8")

    def test_a_report_is_the_same_in_any_locale(self):
        self.assertEqual(self.body(self.golden("shop-short-80.txt")),
                         self.body(self.check(OK, RECORDING)))

    def test_by_pid_shows_the_machines_view(self):
        self.assertEqual(self.body(self.golden("shop-by-pid-80.txt")),
                         self.body(self.check(OK, "--by", "pid", "--books", "--cost", RECORDING)))

    def test_csv_and_json_are_for_programs(self):
        output = report("--format", "csv", "--by", "tid", RECORDING).stdout
        self.assertEqual((GOLDEN / "shop-by-tid.csv").read_bytes(), output)
        parsed = json.loads(self.check(OK, "-f", "json", RECORDING))
        self.assertEqual(["GET /orders", "POST /cart/été"], [row["key"] for row in parsed["rows"]])
        self.assertTrue(parsed["books"]["balanced"])

    def test_a_recording_may_come_from_standard_input(self):
        output = self.check(OK, "-", input=RECORDING.read_bytes())
        self.assertEqual(self.body(self.golden("shop-short-80.txt")), self.body(output))

    def report_with_another(self, data, *options):
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            return self.check(OK, *options, RECORDING, file.name)

    def test_so_it_is_of_a_named_pipe_and_of_a_socket(self):
        with tempfile.TemporaryDirectory() as folder:
            fifo = os.path.join(folder, "fifo")
            os.mkfifo(fifo)
            ours, its = socket.socketpair()
            for name, opened, stdin in ((fifo, lambda: open(fifo, "wb"), None),
                                        ("-", lambda: ours.makefile("wb"), its)):
                with self.subTest(name), subprocess.Popen(
                        [CORRELATOR, "report", name], stdin=stdin, stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE, env={"COLUMNS": "80", "TZ": "UTC"}) as process:
                    if stdin:
                        its.close()
                    with opened() as file:
                        self.await_caught(process)
                        process.send_signal(signal.SIGINT)
                        self.assertIn(b"reading on", process.stderr.readline())
                        file.write(RECORDING.read_bytes())
                    if stdin:
                        ours.close()
                    output, _ = process.communicate(timeout=60)
                    self.assertEqual(OK, process.returncode)
                    self.assertEqual(self.body(self.golden("shop-short-80.txt")),
                                     self.body(output.decode()))

    def test_the_first_ctrl_c_is_for_who_writes_there(self):
        data = RECORDING.read_bytes()
        for is_again in False, True:
            with self.subTest(is_again), subprocess.Popen(
                    [CORRELATOR, "report", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, env={"COLUMNS": "80", "TZ": "UTC"}) as process:
                process.stdin.write(data[:100])
                process.stdin.flush()
                self.await_caught(process)
                process.send_signal(signal.SIGINT)
                self.assertIn(b"reading on until the writer ends", process.stderr.readline())
                if is_again:
                    process.send_signal(signal.SIGINT)
                    self.assertEqual(-signal.SIGINT, process.wait(60))
                    continue
                output, _ = process.communicate(data[100:], timeout=60)
                self.assertEqual(OK, process.returncode)
                self.assertEqual(self.body(self.golden("shop-short-80.txt")),
                                 self.body(output.decode()))

    def await_caught(self, process):
        status = pathlib.Path(f"/proc/{process.pid}/status")
        end = time.monotonic() + 60
        while not int(status.read_text().split("SigCgt:")[1].split()[0], 16) & 2:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.005)

    def test_files_are_added_up(self):
        data = RECORDING.read_bytes().replace(b"b0071d:4242:77:", b"b0071d:4242:78:")
        parsed = json.loads(self.report_with_another(data, "-f", "json"))
        self.assertEqual(2 * 470001234, parsed["total"]["cpu_ns"])
        self.assertEqual(2, len(parsed["meta"]["files"]))
        self.assertNotIn("double_records", parsed["meta"])

    def test_a_record_that_is_there_twice_is_counted_once(self):
        once = json.loads(self.check(OK, "-f", "json", RECORDING))
        for data in RECORDING.read_bytes(), RECORDING.read_bytes()[:-5]:
            with self.subTest(size=len(data)):
                with tempfile.NamedTemporaryFile() as file:
                    file.write(RECORDING.read_bytes() + data)
                    file.flush()
                    both = json.loads(report("-f", "json", file.name).stdout)
                for part in "rows", "total", "unattributed", "books", "own_cost":
                    self.assertEqual(once[part], both[part])
        output = self.report_with_another(RECORDING.read_bytes())
        self.assertIn("13 records were read again, which are counted once",
                      " ".join(output.split()))
        parsed = json.loads(self.report_with_another(RECORDING.read_bytes(), "-f", "json"))
        self.assertEqual(13, parsed["meta"]["double_records"])

    def test_help_is_data_and_names_the_exit_codes(self):
        output = self.check(OK, "--help")
        self.assertIn("Usage: correlator report", output)
        self.assertIn("Exit status: 0 ok", " ".join(output.split()))

    def test_wrong_usage_is_told_apart_from_failure(self):
        self.check(USAGE, "--no-such-option", RECORDING, says="no-such-option")
        self.check(USAGE, says="there is no correlator.msgpack here: name the recordings")
        self.check(USAGE, "--slowest", "10", RECORDING, says="for that many requests, --slowest=10")

    def columns(self):
        """{its heading: the field to sort by} of each column of a report by endpoint."""
        names = {title: name for name, title in figure_list.titles().items()}
        return {heading: names[heading] for heading in self.heading()[1:]}

    def test_a_field_that_no_table_of_it_has_is_an_error_with_those_that_it_has(self):
        for by, option, field, view in [("endpoint", "--sort", "wall", "endpoint"),
                                        ("endpoint,request_id", "--columns", "wall", "endpoint,request_id"),
                                        ("request_id", "--columns", "cpu,wall_p99", "request_id"),
                                        ("pid", "--sort", "endpoint", "pid")]:
            with self.subTest(by=by, field=field):
                result = report("--by", by, option, field, RECORDING)
                self.assertEqual((USAGE, b""), (result.returncode, result.stdout))
                self.assertRegex(result.stderr.decode(), rf"{option}: a report by {view} has no "
                                 rf"{field.split(',')[-1]}; it has key, .*\bcpu\b")

    def heading(self, *arguments, **environment):
        """Of the first table."""
        result = subprocess.run([CORRELATOR, "report", *arguments, RECORDING], timeout=60,
                                env={"PATH": os.environ["PATH"], **environment},
                                capture_output=True, check=True)
        return re.split("  +", result.stdout.decode().split("\n\n")[1].split("\n")[0])

    def test_a_screen_has_what_fits_and_what_it_is_sorted_by_and_a_pipe_has_all(self):
        everything = self.heading()
        self.assertEqual(["endpoint", "requests", "req/s", "cpu", "share"], everything[:5])
        self.assertGreaterEqual(len(everything), 20)
        for column, field in self.columns().items():
            heading = self.heading("--sort", field, COLUMNS="60")
            self.assertIn(column, heading)
            self.assertLess(len(heading), 8)

    def test_columns_are_those_that_were_asked_for(self):
        self.assertEqual(["endpoint", "wall p99", "requests"],
                         self.heading("--columns", "wall_p99,requests", COLUMNS="20"))
        # And what was asked for to sort by, once.
        self.assertEqual(["endpoint", "requests", "kernel"],
                         self.heading("--columns", "requests", "--sort", "kernel"))
        self.assertEqual(["endpoint", "kernel", "requests"],
                         self.heading("--columns", "kernel,requests", "--sort", "kernel"))

    def rows(self, *arguments):
        parsed = json.loads(self.check(OK, "-f", "json", *arguments, RECORDING))
        return {row["key"]: row["cpu_ns"] for row in parsed["rows"]}, parsed

    def test_conditions_choose_what_is_reported_and_the_books_stay_whole(self):
        everything, whole = self.rows("--by", "request_id")
        chosen, parsed = self.rows("--by", "request_id", "--where", "endpoint~GET*", "--where",
                                   "request_id=req-2")
        self.assertEqual({"req-2": everything["req-2"]}, chosen)
        self.assertEqual(everything["req-2"], parsed["total"]["cpu_ns"])
        self.assertEqual(["endpoint~GET*", "request_id=req-2"], parsed["meta"]["where"])
        self.assertEqual(whole["books"], parsed["books"])
        table = self.check(OK, "--where", "endpoint~GET*", RECORDING)
        self.assertIn("only       endpoint~GET*\n", table)
        self.assertIn("balanced to 123 ns of 470.0 ms, of all that was observed;", " ".join(table.split()))
        table = self.check(OK, "--where", "endpoint~GET*", "--books", RECORDING)
        self.assertIn("the books, of all that was observed\n", table)
        self.assertNotIn("DOES NOT MATCH", table)

    def test_a_span_of_time_has_the_records_and_the_books_of_its_windows(self):
        _, whole = self.rows()
        _, all_of_it = self.rows("--since", "2023-11-14T22:13:20Z", "--until", "1m")
        self.assertEqual(whole, all_of_it)
        result = report("-f", "json", "--since", "1ms", RECORDING)
        nothing = json.loads(result.stdout)
        self.assertEqual((OK, [], {}), (result.returncode, nothing["rows"], nothing["books"]["losses"]))
        self.assertIn(b"no record matches --where, --since and --until", result.stderr)

    def test_a_key_that_no_record_has_chooses_nothing_by_a_slip(self):
        for options in ([], ["--diff", RECORDING], ["--html", "-"], ["--over-time"]):
            self.check(FAILURE, *options, "--where", "tennant=x", RECORDING,
                       says="no record has the key tennant; keys that occur: request_id, endpoint")
        for condition in "endpoint=x", "pid=1", "comm~x*", "host_name=x":
            result = report("--where", condition, RECORDING)
            self.assertEqual(OK, result.returncode, condition)
            self.assertIn(b"no record matches", result.stderr, condition)

    def test_without_a_file_it_is_what_record_writes_by_default(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "correlator.msgpack").write_bytes(RECORDING.read_bytes())
            self.assertEqual(self.body(self.golden("shop-short-80.txt")),
                             self.body(self.check(OK, cwd=folder)))

    def test_what_cannot_be_read_is_a_failure_with_its_name(self):
        self.check(FAILURE, "/nonexistent.rec", says="/nonexistent.rec")
        self.check(FAILURE, "/", says="/: ")
        self.check(FAILURE, __file__, says="not a recording")
        self.check(FAILURE, os.devnull, says="no records")
        self.check(FAILURE, "--by", "colour", RECORDING, says="request_id, endpoint")

    def test_a_recording_that_was_cut_off_is_reported_with_a_warning(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(RECORDING.read_bytes()[:-5])
            file.flush()
            result = report(file.name)
        self.assertEqual(OK, result.returncode)
        self.assertIn(b"truncated", result.stdout.split(b"\n")[0])
        self.assertNotEqual(b"", result.stderr)

    def report_damaged(self, change, *options):
        """Of the recording with its bytes changed: the report, and what it says beside it."""
        with tempfile.NamedTemporaryFile() as file:
            file.write(change(RECORDING.read_bytes()))
            file.flush()
            result = report(*options, file.name)
        self.assertEqual(FAILURE, result.returncode, result.stderr.decode())
        return result.stdout.decode(), result.stderr.decode().replace(file.name, "FILE")

    def second(self, data):
        """The second record, a process's, is zeros."""
        start = data.index(b"\x92\xd7\0", 1)
        end = data.index(b"\x92\xd7\0", start + 1)
        self.damaged = start, end - start
        return data[:start] + bytes(end - start) + data[end:]

    def test_damage_in_the_middle_is_passed_over_and_said(self):
        output, error = self.report_damaged(self.second)
        offset, size = self.damaged
        self.assertEqual(f"correlator: warning: FILE: byte {offset}: damaged: no record begins "
                         f"here; {size} bytes are passed over\n", error)
        self.assertIn(f"(12 records, {size} bytes damaged)", output.split("\n")[0])
        self.assertIn(f"RECORDS ARE MISSING: the recording is damaged, {size} bytes in 1 place",
                      " ".join(output.split()))
        self.assertIn("req-1", output)
        file, = json.loads(self.report_damaged(self.second, "-f", "json")[0])["meta"]["files"]
        self.assertEqual((12, 1, size), tuple(file[name] for name in (
            "records", "damaged_places", "damaged_bytes")))
        rows, _ = self.report_damaged(self.second, "-f", "csv", "--by", "tid")
        self.assertEqual(len((GOLDEN / "shop-by-tid.csv").read_text().split("\n")),
                         len(rows.split("\n")))

    def test_a_balance_record_without_its_times_is_damage(self):
        output, error = self.report_damaged(
            lambda data: data.replace(b"unattributed_ns", b"unattributed-ns", 1))
        self.assertIn("a balance record without its times", error)
        self.assertIn("(12 records, ", output)

    def test_many_damaged_places_are_summed_up(self):
        head = b"\x92\xd7\0"
        output, error = self.report_damaged(
            lambda data: data + b"".join(b"garbage" + head + part
                                         for part in data.split(head)[1:]))
        self.assertEqual(9, error.count("warning"), error)
        self.assertIn("damaged in 13 places: 91 bytes are passed over in all", error)
        self.assertIn("(26 records, 91 bytes damaged)", output)

    def test_another_recording_after_one_that_was_cut_off_is_read(self):
        output, error = self.report_damaged(lambda data: data[:-5] + data)
        self.assertIn("(25 records, ", output)
        self.assertEqual(1, error.count("warning"))

    def test_a_file_of_zeros_without_end_is_refused(self):
        self.check(FAILURE, "/dev/zero", says="/dev/zero: byte 0: not a recording of correlator")

    def test_a_reader_that_has_seen_enough_is_no_error(self):
        command = [CORRELATOR, "report", "--format", "csv", *[str(RECORDING)] * 500]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.close()
            error = process.stderr.read()
        self.assertEqual((OK, b""), (process.returncode, error))

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "wb") as full:
            process = subprocess.run([CORRELATOR, "report", str(RECORDING)], stdout=full,
                                     stderr=subprocess.PIPE, timeout=60, check=False)
        self.assertEqual(FAILURE, process.returncode)
        self.assertEqual(b"correlator: error: cannot write the report: No space left on device\n",
                         process.stderr)

    def test_so_it_is_of_what_only_helps(self):
        for words in ("--help",), ("--version",), ("report", "--help"), ("record", "--usage"):
            with self.subTest(words), open("/dev/full", "wb") as full:
                process = subprocess.run([CORRELATOR, *words], stdout=full, stderr=subprocess.PIPE,
                                         timeout=60, check=False)
                self.assertEqual(FAILURE, process.returncode)
                self.assertEqual(b"correlator: error: cannot write to standard output: "
                                 b"No space left on device\n", process.stderr)


class MemoryTest(unittest.TestCase):
    """What reader/report/README.md promises of memory."""

    LIMIT_MIB = 64
    VALUES = 100_000

    def recording(self):
        """As many requests as endpoints, each in one record."""
        stamp = (1_700_000_000).to_bytes(4, "big") + bytes(4)
        entry = b"\x92\xd7\x00" + stamp + msgpack.packb({
            "schema": 1, "kind": "cpu", "record_id": "b:1:1:######", "host_name": "web", "pid": 7,
            "tid": 7, "request_id": "r-######", "endpoint": "GET /######", "window_ns": 10 ** 9,
            "cpu_ns": 1000, "first_ns": 10 ** 9, "last_ns": 2 * 10 ** 9})
        return b"".join(entry.replace(b"######", b"%06d" % number) for number in range(self.VALUES))

    def test_values_that_are_not_shown_are_not_kept(self):
        # A sanitizer has its shadow and its redzones beside what it watches: as much again.
        is_sanitized = b"__asan_init" in pathlib.Path(CORRELATOR).read_bytes()
        limit_mib = self.LIMIT_MIB * (2 if is_sanitized else 1)
        with tempfile.NamedTemporaryFile() as file, tempfile.TemporaryFile() as output:
            file.write(self.recording())
            file.flush()
            process = subprocess.Popen(
                [CORRELATOR, "report", "--by", "endpoint", "--top", "10", "-f", "json", file.name],
                stdout=output, env={**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=1"})
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            printed = json.load(output)
        self.assertEqual(OK, process.returncode)
        self.assertEqual((10, self.VALUES - 10), (len(printed["rows"]), printed["hidden"]["groups"]))
        self.assertLess(usage.ru_maxrss / 1024, limit_mib)


class PageTest(unittest.TestCase):
    """--html: what it writes, and what it does not write over; tests/html looks at the page."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.page = self.folder / "page.html"

    def check(self, code, *arguments, **options):
        result = report(*arguments, **options)
        self.assertEqual(code, result.returncode, result.stderr)
        return result.stdout, result.stderr.decode()

    def test_it_is_a_file_or_standard_output(self):
        self.assertEqual((b"", ""), self.check(OK, "--html", self.page, RECORDING))
        # Again, over the older one, and nothing is left beside it.
        self.check(OK, "--html", self.page, RECORDING)
        self.assertEqual([self.page], list(self.folder.iterdir()))
        written = self.page.read_bytes()
        piped, _ = self.check(OK, "--html", "-", RECORDING)
        self.assertEqual(written[:15], piped[:15])
        self.assertEqual(len(written), len(piped))  # they differ in their nonces
        from_pipe, _ = self.check(OK, "--html", "-", "-", input=RECORDING.read_bytes())
        self.assertIn(b'"key":"GET /orders"', from_pipe)

    def rows(self, *arguments, **options):
        """The groups in the order that they have without scripts, and the page."""
        page, _ = self.check(OK, "--html", "-", *arguments, "-" if options else RECORDING, **options)
        return re.findall('<tr data-row="group"><th scope="row">([^<]*)<', page.decode()), page

    def test_it_is_sorted_grouped_and_chosen_as_the_table_is(self):
        orders, cart = "GET /orders", "POST /cart/\u00e9t\u00e9"
        self.assertEqual([orders, cart], self.rows()[0])
        data = used(1, 9, request_id="a", blocked_ns=1) + used(2, 1, request_id="b", blocked_ns=9)
        self.assertEqual(["a", "b"], self.rows(input=data)[0])
        self.assertEqual(["b", "a"], self.rows("--sort", "blocked", input=data)[0])
        self.assertEqual(["req-1"], self.rows("--by", "request_id", "--top", "1")[0])
        chosen, page = self.rows("--where", f"endpoint={cart}")
        self.assertEqual([cart], chosen)
        self.assertNotIn(orders.encode(), page)
        chosen, _ = self.rows("--since", "1h")
        self.assertEqual([], chosen)

    def test_beside_it_is_another_recording(self):
        other = self.folder / "other.rec"
        other.write_bytes(RECORDING.read_bytes().replace(b"GET /orders", b"GET /others"))
        page = self.rows("--compare", other)[1]
        self.assertEqual((1, 1), (page.count(b'"groups":["GET /orders"'),
                                  page.count(b'"groups":["GET /others"')))
        page = self.rows("--compare", other, "--where", "endpoint=GET /orders")[1]
        self.assertEqual((1, 0), (page.count(b'"groups":["GET /orders"'),
                                  page.count(b'"GET /others"')))
        self.assertEqual(1, self.rows()[1].count(b'"groups":['))

    def test_a_recording_is_not_written_over(self):
        recording = self.folder / "app.rec"
        recording.write_bytes(RECORDING.read_bytes())
        _, said = self.check(FAILURE, "--html", recording, RECORDING)
        self.assertIn("is no page: it is not overwritten", said)
        self.assertEqual(RECORDING.read_bytes(), recording.read_bytes())

    def test_what_cannot_be_read_or_written_is_a_failure(self):
        _, said = self.check(FAILURE, "--html", self.page, "--by", "tenant", RECORDING)
        self.assertIn("no record has the key tenant", said)
        self.check(FAILURE, "--html", self.page, self.folder / "nothing.rec")
        self.check(FAILURE, "--html", self.page, "--compare", self.folder / "nothing.rec", RECORDING)
        self.check(FAILURE, "--html", "/dev/full", RECORDING)
        self.assertEqual([], list(self.folder.iterdir()))

    def test_of_a_damaged_recording_there_is_what_can_be_read(self):
        damaged = self.folder / "damaged.rec"
        data = bytearray(RECORDING.read_bytes())
        data[600:700] = b"\xff" * 100
        damaged.write_bytes(data)
        for files in ([damaged], ["--compare", damaged, RECORDING]):
            with self.subTest(files=files):
                self.check(FAILURE, "--html", self.page, *files)
                self.assertIn(b"DAMAGED: some are missing", self.page.read_bytes())

    def test_without_an_endpoint_there_are_requests(self):
        story = Story(1)
        output, _ = self.check(OK, "--html", "-", "--by", "request_id", "-n", "2", "-", input=story.data)
        self.assertIn("… 4 more".encode(), output)
        self.assertIn(b'{"by":"endpoint","folded":0', output)


if __name__ == "__main__":
    unittest.main()
