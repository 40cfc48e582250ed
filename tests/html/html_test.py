# SPDX-License-Identifier: GPL-2.0-only
"""`report --html` in a headless Chromium: its figures are those of `report --format json`, also of what
is selected in it; it says nothing on the console, asks the network for nothing, and needs no mouse.
"""
import collections
import datetime
import html.parser
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import browser
from browser import Browser
from stories import ENDPOINTS, HOSTILE, REASONS, Story

BUILD = pathlib.Path(os.environ["CORRELATOR_BUILD"])
CORRELATOR = BUILD / "bin" / "correlator"
GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "golden" / "shop.rec"
SKIPPED, FAILED = 77, 1
HELD = 100_000  # requests, by a page
# Fields of rows on the page, by those of JSON.
FIELDS = {"requests": "requests", "rate": "requests_per_second", "cpu": "cpu_ns", "share": "share_percent",
          "user": "user_ns", "kernel": "kernel_ns", "run_queue": "run_queue_ns", "blocked": "blocked_ns",
          "syscalls_mean": "syscalls_mean", "parked_mean": "parked_mean_ns", "gvl": "gvl_ns", "gc": "gc_ns",
          **{f"blocked_{reason}": f"blocked_{reason}_ns" for reason in REASONS},
          **{f"{what}_{which}": f"{what}_{which}_ns" for what in ("cpu", "wall")
             for which in ("mean", "p50", "p90", "p99", "max")}}
THREAD_FIELDS = ("cpu", "user", "kernel", "run_queue", "blocked")
READ_ROWS = """[...document.querySelectorAll("%s tbody tr")].map(row => ({
    kind: row.dataset.row, key: row.dataset.key,
    texts: [...row.children].map(cell => cell.textContent),
    values: Object.fromEntries([...row.querySelectorAll("td")].map(cell => [cell.dataset.field, cell.dataset.value ?? null]))}))"""

# Of the story that is open: the name of each lane, and of what is drawn beside it the class.
READ_LANES = """[...document.querySelectorAll("tr.story svg[role=img] text[x='0']")].map(name => {
    const { top, bottom } = name.getBoundingClientRect();
    const bars = [...document.querySelectorAll("tr.story svg[role=img] rect")].filter(bar => {
        const box = bar.getBoundingClientRect();
        return box.top < bottom && box.bottom > top; });
    return [name.textContent, bars.map(bar => bar.getAttribute("class"))]; })"""


def correlator(*arguments, **options):
    result = subprocess.run([CORRELATOR, *map(str, arguments)], capture_output=True, timeout=120, **options)
    if result.returncode:
        raise RuntimeError(f"{arguments}: {result.stderr.decode()}")
    return result.stdout


def wall_clock(ns):
    moment = datetime.datetime.fromtimestamp(ns // 10 ** 9, datetime.timezone.utc)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ns % 10 ** 9:09}Z"


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.browser = cls.enterClassContext(Browser()) if hasattr(cls, "enterClassContext") else Browser()
        if not hasattr(cls, "enterClassContext"):
            cls.addClassCleanup(cls.browser.__exit__)

    def setUp(self):
        self.path = pathlib.Path(self.folder.name) / "story.rec"
        self.page = pathlib.Path(self.folder.name) / "page.html"

    def show(self, story, *options):
        self.path.write_bytes(story.data)
        correlator("report", "--html", self.page, *options, self.path)
        self.browser.open(self.page)

    def json(self, *options, path=None):
        return json.loads(correlator("report", "-f", "json", *options, path or self.path))

    def rows(self, table="#groups"):
        return self.browser.evaluate(READ_ROWS % table)

    def check_row(self, expected, row):
        for field, name in FIELDS.items():
            if field not in row["values"]:
                # Of none of all requests, or of hardly any; or not measured.
                self.assertTrue(field.startswith("blocked_") or field in ("parked_mean", "gvl", "gc"), field)
                self.assertLessEqual(expected.get(name, 0), expected.get("wall_mean_ns", 0) // 100)
                continue
            said, where = row["values"][field], (row["texts"][0], field)
            if name not in expected:
                self.assertIsNone(said, where)
            elif isinstance(expected[name], float):
                # JSON has nine digits of it.
                self.assertAlmostEqual(expected[name], float(said), delta=1e-8 * expected[name] + 1e-9, msg=where)
            else:
                self.assertEqual(str(expected[name]), said, where)

    def check_groups(self, report):
        rows = self.rows()
        groups = {row["key"]: row for row in rows if row["kind"] == "group"}
        self.assertEqual({row["key"] for row in report["rows"]}, set(groups))
        for expected in report["rows"]:
            self.check_row(expected, groups[expected["key"]])
        others = {row["kind"]: row for row in rows if row["kind"] != "group"}
        for kind in "without_key", "unattributed", "overflow", "total":
            if kind in others:
                self.check_row(report.get(kind, {}), others[kind])
            else:
                self.assertEqual(0, report.get(kind, {}).get("cpu_ns", 0), kind)

    def check_books(self, report):
        books = self.browser.evaluate("""Object.fromEntries([...document.querySelectorAll("#books td")]
            .map(cell => [cell.dataset.field, cell.dataset.value]))""")
        for label, name in (("the kernel's exec time", "exec_ns"), ("attributed", "attributed_ns"),
                            ("unattributed", "unattributed_ns"), ("overflow", "overflow_ns"),
                            ("residual", "residual_ns"), ("largest of a window", "worst_residual_ns")):
            self.assertEqual(str(report["books"][name]), books[label], label)
        self.assertEqual(str(report["own_cost"]["cpu_ns"]), books["Correlator's own CPU"])
        self.assertEqual(report["books"]["losses"]["events_lost"], int(books.get("events_lost", 0)))

    def check_threads(self, *options):
        """Whose the unattributed time was; the page shows the first of them."""
        threads = {}
        for row in self.json("--by", "endpoint", *options)["unattributed_threads"]:
            sums = threads.setdefault(row["keys"]["thread_name"], collections.Counter())
            sums.update({field: row[f"{field}_ns"] for field in THREAD_FIELDS})
        said = {row["texts"][0]: {field: int(row["values"][field]) for field in THREAD_FIELDS}
                for row in self.rows("#threads-table")}
        self.assertEqual(threads, said)

    def check_requests(self, *options):
        report = self.json("--by", "request_id", "--sort", "wall", "--top", "20", *options)
        rows = self.rows("#requests-table")
        self.assertEqual(min(20, len(report["rows"])), len(rows))
        text = lambda row, field: str(row[f"{field}_ns"]) if f"{field}_ns" in row else None
        self.assertEqual([text(row, "wall") for row in report["rows"]],
                         [row["values"]["wall"] for row in rows])
        named = {row["key"]: row for row in report["rows"]}
        for row in rows:
            expected = named.get(row["texts"][0].lstrip("▸▾"))
            if expected:  # else it is as slow as the last one
                optional = {"parked", "gvl", "gc"} & row["values"].keys()
                for field in "cpu", "user", "kernel", "run_queue", "blocked", *optional:
                    self.assertEqual(text(expected, field), row["values"][field])

    def check_all(self, *options):
        report = self.json("--by", "endpoint", *options)
        self.check_groups(report)
        self.check_books(report)
        self.check_requests(*options)
        self.check_threads(*options)

    def check_quiet(self):
        self.assertEqual([], self.browser.complaints())
        self.assertIsNone(self.browser.evaluate("window.pwned"))

    def select_windows(self, first, last):
        """By keyboard: to the first one, then to the last one with Shift."""
        self.browser.evaluate("document.querySelector('#time-chart svg').focus()")
        self.browser.press("Home")
        for _ in range(first):
            self.browser.press("ArrowRight")
        if first == last:
            self.browser.press("Enter")
        for _ in range(last - first):
            self.browser.press("ArrowRight", shift=True)

    def span(self, story, first, last):
        since = ["--since", wall_clock(story.ends[first - 1])] if first > 0 else []
        return [*since, "--until", wall_clock(story.ends[last])]

    def pick(self, endpoint):
        self.browser.evaluate(f"""[...document.querySelectorAll("#groups tr")]
            .find(row => row.dataset.key === {json.dumps(endpoint)}).querySelector("button").click()""")


class FiguresTest(PageTest):
    def test_all_of_it_is_what_json_says(self):
        for seed in range(3):
            with self.subTest(seed=seed):
                self.show(Story(seed, vm=seed > 0))
                fields = {field for row in self.rows() for field in row["values"]}
                self.assertEqual({"gvl", "gc"} if seed > 0 else set(), {"gvl", "gc"} & fields)
                self.assertIn("parked_mean", fields)
                self.assertIn("parked", self.rows("#requests-table")[0]["values"])
                self.check_all()
                self.check_quiet()

    def test_a_real_layout_of_records(self):
        self.path.write_bytes(GOLDEN.read_bytes())
        correlator("report", "--html", self.page, self.path)
        self.browser.open(self.page)
        self.check_groups(self.json("--by", "endpoint"))
        self.check_quiet()

    def test_long_waits_are_those_of_report_stalls(self):
        self.show(Story(41, stalls=True))
        said = self.json("--stalls", "--top", "50")
        counts = self.browser.evaluate("[...document.querySelectorAll('#stalls tbody')].map(body => body.rows.length)")
        self.assertEqual([len(said[name]) for name in ("ended_by", "stalls", "hog_sums", "hogs")], counts)
        self.assertGreater(min(counts), 3)
        keys = self.browser.evaluate("[...document.querySelectorAll('#stalls table')].map(table => "
                                     "[...table.tBodies[0].rows].map(row => row.cells[0].textContent))")
        # As the screen has them: cut, and with what cannot be printed escaped.
        for name, shown in zip(("ended_by", "stalls", "hog_sums", "hogs"), keys):
            self.assertEqual([(row.get("endpoint") or "(no endpoint)")[:4] for row in said[name]],
                             [key[:4] for key in shown])
        self.check_all()
        self.check_quiet()

    def test_system_calls_and_peers_are_those_of_the_reports(self):
        self.show(Story(42, calls=True))
        for section in "syscalls", "io":
            with self.subTest(section=section):
                # The screen has fewer columns, and cuts names.
                said = correlator("report", f"--{section}", "--top", "30", self.path, text=True)
                lines = [line for line in said.partition("\n\n")[0].splitlines() if line[0] not in "─…"]
                rows = self.browser.evaluate(f"[...document.querySelectorAll('#{section} tr')].map(row => "
                                             "[...row.cells].map(cell => cell.textContent))")
                self.assertEqual([line.split()[0][:4] for line in lines], [row[0].split()[0][:4] for row in rows])
                self.assertGreater(len(rows), 20)
                titles, total = rows[0], rows[-1]
                json_total = self.json(f"--{section}")["total"]
                self.assertEqual(f"{json_total['syscalls' if section == 'syscalls' else 'io_calls']:,}",
                                 total[titles.index("calls")])
        self.check_all()
        self.check_quiet()

    def test_what_was_not_recorded_has_no_section(self):
        self.show(Story(43))
        self.assertEqual([], self.browser.evaluate("[...document.querySelectorAll('#stalls, #io, #syscalls')]"))
        self.check_quiet()

    def test_by_request_the_page_has_all_of_them(self):
        """Their groups are endpoints."""
        self.show(Story(2), "--by", "request_id")
        self.check_groups(self.json("--by", "endpoint"))
        self.check_requests()
        self.check_quiet()

    def test_a_span_of_time_is_what_since_and_until_say(self):
        story = Story(3)
        self.show(story)
        for first, last in (0, 0), (0, 3), (4, 4), (2, 9), (5, 11):
            with self.subTest(first=first, last=last):
                self.select_windows(first, last)
                self.check_all(*self.span(story, first, last))
        self.browser.press("Escape")
        self.check_all()
        self.check_quiet()

    def test_an_endpoint_is_what_where_says(self):
        self.show(Story(4))
        for endpoint in ENDPOINTS[0], HOSTILE[0]:
            with self.subTest(endpoint=endpoint):
                self.pick(endpoint)
                self.check_all("--where", f"endpoint={endpoint}")
                self.pick(endpoint)
        self.check_all()
        self.check_quiet()

    def test_what_was_not_measured_is_not_zero(self):
        story = Story(9, holes=True)
        self.show(story)
        self.check_all()
        lacking = [row["key"] for row in self.json("--by", "endpoint")["rows"]
                   if not {"user_ns", "wall_p99_ns", "syscalls_mean"} <= set(row)]
        self.assertEqual(set(ENDPOINTS[:3]), set(lacking))
        self.select_windows(1, 7)
        self.check_all(*self.span(story, 1, 7))
        for endpoint in lacking:
            self.pick(endpoint)
            self.check_all("--where", f"endpoint={endpoint}", *self.span(story, 1, 7))
            self.pick(endpoint)

    def test_both_at_once(self):
        story = Story(5)
        self.show(story)
        self.pick(ENDPOINTS[1])
        self.select_windows(3, 6)
        self.check_all("--where", f"endpoint={ENDPOINTS[1]}", *self.span(story, 3, 6))

    def test_what_is_filtered_already_stays_out(self):
        story = Story(6)
        where = ["--where", "endpoint~GET *", *self.span(story, 2, 8)]
        self.show(story, *where)
        self.check_all(*where)

    def test_the_command_that_it_names_says_the_same(self):
        story = Story(7)
        self.show(story)
        self.pick(HOSTILE[1])  # which wants quotes
        self.select_windows(2, 5)
        command = self.browser.evaluate("document.getElementById('command').textContent")
        said = subprocess.run(["sh", "-c", command.replace("correlator report", '"$0" report -f json', 1), CORRELATOR],
                              capture_output=True, timeout=60, check=True)
        self.check_groups(json.loads(said.stdout))

    def test_more_requests_than_it_holds(self):
        """What it holds are the costliest; the others are in each sum, and it says so."""
        story = Story(8, windows=4, requests=0)
        story.many_requests(HELD + 300)
        self.show(story)
        report = self.json("--by", "endpoint")
        self.assertEqual(HELD + 300, report["total"]["requests"])
        self.check_groups(report)
        note = self.browser.evaluate("document.getElementById('groups-note').textContent")
        self.assertRegex(note, "holds the 100,000 costliest requests.* other 300 are in every sum")
        self.check_requests()
        self.select_windows(1, 2)
        report = self.json("--by", "endpoint", *self.span(story, 1, 2))
        for row in self.rows():
            key, values = row.get("key"), row["values"]
            expected = next((line for line in report["rows"] if line["key"] == key), report.get(row["kind"]))
            for field in "cpu", "run_queue", "blocked":
                self.assertEqual(str(expected[f"{field}_ns"]), values[field], (key, field))
            self.assertEqual([None] * 3, [values[field] for field in ("requests", "cpu_p99", "wall_max")])
        self.browser.press("Escape")
        self.pick(ENDPOINTS[0])
        self.check_groups(self.json("--by", "endpoint", "--where", f"endpoint={ENDPOINTS[0]}"))
        self.check_quiet()


# Of each frame that is drawn, but for the one of all: where it is, what it is, and its figures.
READ_FLAMES = """[...document.querySelectorAll("#code-graph g.frame:not(.kind-all)")].map(({ dataset }) => [
    Number(dataset.depth), dataset.name, Number(dataset.total), Number(dataset.self), Number(dataset.samples)])"""


class CodeTest(PageTest):
    """The flame graph of what is selected, against `report --stacks`."""

    def flames(self):
        return [tuple(frame) for frame in self.browser.evaluate(READ_FLAMES)]

    def paths(self, branches, samples):
        """JSON tells lines of a method apart, with what each called; the graph does not."""
        paths, sums = {None: ()}, {}
        for branch in branches:
            path = paths[branch["branch"]] = paths[branch.get("parent")] + (
                tuple(branch.get(field) for field in ("name", "file", "first_line", "frame_kind")),)
            old = sums.get(path, (0, 0, 0))
            sums[path] = tuple(map(sum, zip(old, (branch["total_ns"], branch["self_ns"], branch[samples]))))
        return sums

    def methods(self, branches, samples):
        return [(len(path), path[-1][0], *figures) for path, figures in self.paths(branches, samples).items()]

    def check_waits(self, *options):
        said = json.loads(correlator("report", "--stacks", "--off-cpu", "-f", "json", *options, self.path))
        self.check_drawn(said, "off_cpu_in_stacks_ns", "waits")
        self.assertEqual(0, said["all"]["off_cpu_in_none_ns"])

    def check_code(self, *options):
        self.check_drawn(json.loads(correlator("report", "--stacks", "-f", "json", *options, self.path)),
                         "sampled_cpu_ns", "samples")

    def check_drawn(self, said, spent, samples):
        self.check_frames(self.methods(said["branches"], samples), said["all"][spent])
        self.assertGreater(len(self.flames()), 3)
        self.assertRegex(self.note(), f"(by|in) {said['all'][samples]:,} {samples}")

    def check_frames(self, expected, all_ns):
        # What is no pixel wide is not drawn.
        drawn, least_ns = self.flames(), all_ns / 1000
        self.assertEqual(collections.Counter(), collections.Counter(drawn) - collections.Counter(expected))
        self.assertLessEqual({frame for frame in expected if frame[2] > least_ns}, set(drawn))

    def sandwich(self, paths, method):
        """What the method called, from each stack where it is outermost, and above it the ways that led there."""
        frames = collections.defaultdict(lambda: (0, 0, 0))
        for path, figures in paths.items():
            if method not in path:
                continue
            begin = path.index(method)
            callees = path[begin:]
            frames[callees, 0] = tuple(map(sum, zip(frames[callees, 0], figures)))
            for above in range(1, begin + 1) if len(callees) == 1 else ():
                way = path[begin - above:begin], -above
                frames[way] = tuple(map(sum, zip(frames[way], (figures[0], 0, figures[2]))))
        return [(len(path) - 1, path[-1][0], *figures) if depth == 0 else (depth, path[0][0], *figures)
                for (path, depth), figures in frames.items()]

    def test_all_of_it(self):
        for seed in range(20, 23):
            with self.subTest(seed=seed):
                self.show(Story(seed, frames=40, late_frames=20))
                self.check_code()
                self.check_quiet()

    def test_a_span_of_time_and_an_endpoint(self):
        story = Story(23, frames=40)
        self.show(story)
        for first, last in (0, 3), (4, 4), (5, 11):
            self.select_windows(first, last)
            self.check_code(*self.span(story, first, last))
        self.pick(ENDPOINTS[1])
        self.check_code("--where", f"endpoint={ENDPOINTS[1]}", *self.span(story, 5, 11))
        self.browser.press("Escape")
        self.browser.evaluate("document.getElementById('clear-time').click()")
        self.check_code("--where", f"endpoint={ENDPOINTS[1]}")
        self.check_quiet()

    def test_a_recording_of_one_span_has_the_frames_that_were_told_before_it(self):
        story = Story(24, frames=40)
        span = self.span(story, 4, 8)
        self.show(story, *span)
        self.check_code(*span)

    def measure(self, number):
        self.choose("code-measure", number)

    def test_where_was_waited(self):
        story = Story(27, frames=40, waits=True)
        self.show(story)
        self.check_code()
        self.measure(1)
        self.check_waits()
        self.select_windows(4, 8)
        self.check_waits(*self.span(story, 4, 8))
        self.pick(ENDPOINTS[1])
        self.check_waits("--where", f"endpoint={ENDPOINTS[1]}", *self.span(story, 4, 8))
        line = self.browser.evaluate("document.getElementById('code-line').textContent")
        self.assertRegex(line, r"^all of it: 100\.0 %, .* waits; ")
        self.measure(0)
        self.check_code("--where", f"endpoint={ENDPOINTS[1]}", *self.span(story, 4, 8))
        self.check_quiet()

    def choose(self, select, value):
        self.browser.evaluate(f"""(() => {{
            const select = document.getElementById({json.dumps(select)});
            select.value = {json.dumps(str(value))};
            select.dispatchEvent(new Event("change"));
        }})()""")

    def note(self):
        return self.browser.evaluate("document.getElementById('code-note').textContent")

    def test_of_the_slowest_and_of_one_request(self):
        """Where they are too short for samples of their own, the others stand for them, as in the report."""
        story = Story(29, frames=40, waits=True)
        self.show(story)
        notes = []
        for count in 1, 10, 100:
            self.choose("code-of", count)
            self.check_code(f"--slowest={count}")
            notes.append(self.note())
        self.assertTrue(any("other requests of the endpoint stand for" in note for note in notes), notes)
        self.select_windows(4, 8)
        self.choose("code-of", 1)
        self.check_code("--slowest=1", *self.span(story, 4, 8))
        self.browser.press("Escape")
        self.browser.evaluate("document.querySelector('#requests-table button.pick').click()")
        request = self.browser.evaluate("document.querySelector('#requests-table tbody tr').dataset.request")
        self.browser.evaluate("document.querySelector('.its-code').click()")
        self.assertEqual(request, self.browser.evaluate("document.getElementById('code-of').selectedOptions[0].textContent"))
        self.check_code("--where", f"request_id={request}")
        self.measure(1)
        self.check_waits("--where", f"request_id={request}")
        self.check_quiet()

    def test_callers_and_callees_of_each_method(self):
        self.show(Story(30, frames=60))
        said = json.loads(correlator("report", "--stacks", "-f", "json", self.path))
        paths = self.paths(said["branches"], "samples")
        rows = self.rows("#code-methods")
        self.assertEqual([row["name"] for row in said["methods"]][:20], [row["texts"][0] for row in rows])
        for number, row in enumerate(said["methods"][:20]):
            method = tuple(row.get(field) for field in ("name", "file", "first_line", "frame_kind"))
            self.browser.evaluate(f"document.querySelectorAll('#code-methods button')[{number}].click()")
            # The first frame is the method itself.
            frames = self.sandwich(paths, method)
            own = next(frame for frame in frames if frame[0] == 0)
            self.assertEqual((row["total_ns"], row["samples"]), (own[2], own[4]))
            self.assertEqual([str(row[field]) for field in ("self_ns", "total_ns")],
                             [rows[number]["values"][field] for field in ("self", "total")])
            self.check_frames(frames, own[2])
        self.browser.press("Escape")
        self.check_code()
        self.check_quiet()

    def test_code_is_found_by_its_name(self):
        self.show(Story(31, frames=60))
        said = json.loads(correlator("report", "--stacks", "-f", "json", self.path))
        row = said["methods"][0]
        self.browser.evaluate(f"""(() => {{
            const input = document.getElementById("code-find");
            input.value = {json.dumps(row["file"].upper())};
            input.dispatchEvent(new Event("input"));
        }})()""")
        paths = self.paths(said["branches"], "samples")
        outermost = [figures for path, figures in paths.items()
                     if path[-1][1] == row["file"] and all(frame[1] != row["file"] for frame in path[:-1])]
        found = self.browser.evaluate("document.getElementById('code-found').textContent")
        self.assertIn(f"in {sum(figures[2] for figures in outermost):,} samples", found)
        marked = self.browser.evaluate("""[...document.querySelectorAll('#code-graph g.found')]
            .map(({ dataset }) => dataset.name)""")
        self.assertLessEqual({path[-1][0] for path in paths if path[-1][1] == row["file"]}, set(marked) | {None})
        self.browser.evaluate("document.getElementById('code-find').focus()")
        self.browser.press("Enter")
        self.assertEqual(1, len([frame for frame in self.browser.evaluate(
            "[...document.querySelectorAll('#code-graph g.frame')].map(({ dataset }) => dataset.depth)") if frame == "0"]))
        self.check_quiet()

    def test_on_and_off_the_cpu_at_once(self):
        self.show(Story(27, frames=40, waits=True))
        self.measure(2)
        said = [json.loads(correlator("report", "--stacks", *options, "-f", "json", self.path))
                for options in ((), ("--off-cpu",))]
        parts = [self.methods(report["branches"], samples)
                 for report, samples in zip(said, ("samples", "waits"))]
        drawn = self.flames()
        for depth, name in {frame[:2] for frame in drawn if frame[0] == 1}:
            total = sum(frame[2] for part in parts for frame in part if frame[:2] == (depth, name))
            self.assertEqual(total, sum(frame[2] for frame in drawn if frame[:2] == (depth, name)), name)
        line = self.browser.evaluate("document.getElementById('code-line').textContent")
        self.assertRegex(line, r"^all of it: 100\.0 % ± .* samples and waits; ")
        self.check_quiet()

    def test_what_was_not_recorded_is_not_offered(self):
        self.show(Story(28, frames=40))
        self.assertTrue(self.browser.evaluate("document.getElementById('code-choice').hidden"))

    def test_by_keyboard(self):
        self.show(Story(25, frames=40))
        line = lambda: self.browser.evaluate("document.getElementById('code-line').textContent")
        first = max(self.flames(), key=lambda frame: (frame[0] == 1) * frame[2])
        self.browser.evaluate("document.querySelector('#code-graph svg').focus()")
        self.assertRegex(line(), "^all of it: 100.0 % ")
        self.browser.press("ArrowDown")
        self.assertTrue(line().startswith(f"{first[1]} ("), line())
        self.browser.press("Enter")
        width = self.browser.evaluate("document.querySelector('#code-graph .current rect').getBBox().width")
        self.assertGreater(width, 1000)
        self.assertTrue(all(frame[2] <= first[2] for frame in self.flames()))
        self.browser.press("Escape")
        self.check_code()

    def test_without_samples_there_is_none(self):
        self.show(Story(26))
        self.assertTrue(self.browser.evaluate("document.getElementById('code').hidden"))
        self.check_quiet()


class HandsTest(PageTest):
    """What it is to use: mouse, keyboard, eyes."""

    def test_a_span_is_dragged(self):
        story = Story(10)
        self.show(story)
        self.browser.evaluate("document.querySelector('#time-chart').scrollIntoView({block: 'center'})")
        box = self.browser.evaluate("(({x, y, width, height}) => ({x, y, width, height}))"
                                    "(document.querySelector('#time-chart svg').getBoundingClientRect())")
        middle = box["y"] + box["height"] / 2
        inside = (box["width"] - 52) / len(story.ends)
        point = [(box["x"] + 44 + inside * (window + 0.5), middle) for window in (3, 6)]
        self.browser.drag(*point)
        self.check_groups(self.json("--by", "endpoint", *self.span(story, 3, 6)))

    def test_seconds_are_typed(self):
        story = Story(11)
        self.show(story)
        self.browser.evaluate("""for (const [id, value] of [["from", 2.7], ["to", 3.2]]) {
            document.getElementById(id).value = value; }
            document.getElementById("to").dispatchEvent(new Event("change"))""")
        self.check_groups(self.json("--by", "endpoint", *self.span(story, 5, 6)))

    def test_a_table_sorts_by_keyboard(self):
        self.show(Story(12))
        self.browser.evaluate("document.querySelector('#groups th[data-field=wall_p99] button').focus()")
        for order, is_reverse in (("descending", True), ("ascending", False)):
            self.browser.press("Enter")
            head = "document.querySelector('#groups th[data-field=wall_p99]')"
            self.assertEqual(order, self.browser.evaluate(f"{head}.getAttribute('aria-sort')"))
            values = [int(row["values"]["wall_p99"]) for row in self.rows() if row["kind"] == "group"]
            self.assertEqual(sorted(values, reverse=is_reverse), values)
            self.assertTrue(self.browser.evaluate(f"{head}.contains(document.activeElement)"))

    def test_an_endpoint_is_chosen_by_keyboard(self):
        self.show(Story(13))
        self.browser.evaluate("document.querySelector('#groups tr[data-row=group] button').focus()")
        key = self.browser.evaluate("document.activeElement.closest('tr').dataset.key")
        self.browser.press("Space")
        self.assertEqual("true", self.browser.evaluate("document.activeElement.getAttribute('aria-pressed')"))
        self.check_groups(self.json("--by", "endpoint", "--where", f"endpoint={key}"))
        self.assertIn(key, self.browser.evaluate("document.getElementById('selection').textContent"))

    def test_a_window_is_said_to_who_hears_it(self):
        self.show(Story(14))
        self.select_windows(2, 2)
        said = self.browser.evaluate("document.activeElement.getAttribute('aria-valuetext')")
        self.assertRegex(said, r"^window 3 of 12, 1\.\d+ s to 1\.\d+ s: unattributed \d")
        self.assertEqual("3", self.browser.evaluate("document.activeElement.getAttribute('aria-valuenow')"))

    def test_a_request_tells_its_story(self):
        for timeline in False, True:
            with self.subTest(timeline=timeline):
                self.show(Story(15, timeline=timeline))
                self.browser.evaluate("document.querySelector('#requests-table button[data-request]').focus()")
                self.browser.press("Enter")
                self.assertEqual("true", self.browser.evaluate("document.activeElement.ariaExpanded"))
                parts = self.browser.evaluate("document.querySelectorAll('tr.story table tbody tr').length")
                pieces = self.browser.evaluate("document.querySelectorAll('tr.story svg[role=img] rect').length")
                self.assertEqual(3 * parts if timeline else 4 * parts, pieces)
                total = self.browser.evaluate("""[...document.querySelectorAll("tr.story td[data-field=cpu]")]
                    .reduce((sum, cell) => sum + Number(cell.dataset.value), 0)""")
                self.assertEqual(int(self.rows("#requests-table")[0]["values"]["cpu"]), total)
                self.check_quiet()

    def lanes_of_the_slowest(self, **options):
        """Their names, and for each the states that are drawn in it."""
        self.show(Story(15, timeline=True, **options))
        self.browser.evaluate("document.querySelector('#requests-table button[data-request]').click()")
        self.check_quiet()
        return self.browser.evaluate(READ_LANES)

    def test_each_of_several_fibers_of_a_thread_has_a_lane(self):
        threads = self.lanes_of_the_slowest()
        one = self.lanes_of_the_slowest(fibers=1)
        self.assertEqual(threads, one)
        self.assertTrue(all(len(set(states)) == 3 for _, states in threads), threads)
        for fibers in 2, 3:
            lanes = self.lanes_of_the_slowest(fibers=fibers)
            # Of each thread the rest comes first, if there is one, then its fibers by number.
            self.assertEqual(3 * len(threads), len(lanes), lanes)
            for number, (thread, states) in enumerate(threads):
                place = thread.split(" ")[0]
                named = [f"{place} fiber {40 + fiber}" for fiber in range(fibers)]
                own = lanes[3 * number:3 * number + 3]
                self.assertEqual([thread] * (fibers < 3) + named, [name for name, _ in own])
                self.assertEqual(sorted(states), sorted(state for _, drawn in own for state in drawn))

    def test_a_request_is_found_by_its_id(self):
        self.show(Story(16))
        self.browser.evaluate("""(find => { find.value = "req-0001"; find.dispatchEvent(new Event("input")); })
            (document.getElementById("find"))""")
        rows = self.rows("#requests-table")
        self.assertEqual(10, len(rows))
        self.assertEqual({True}, {"req-0001" in row["texts"][0] for row in rows})

    def background(self):
        return self.browser.evaluate("getComputedStyle(document.documentElement).backgroundColor")

    def emulate(self, scheme):
        self.browser.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": scheme}])

    def test_it_is_light_or_dark(self):
        self.emulate("light")
        self.show(Story(17))
        light = self.background()
        self.emulate("dark")
        dark = self.background()
        self.assertNotEqual(light, dark)
        seen = []
        for _ in range(3):
            self.browser.evaluate("document.getElementById('theme').click()")
            seen.append(self.background())
        self.assertEqual([light, dark, dark], seen)  # light, dark, as the system has it

    def test_everything_fits_a_narrow_window(self):
        self.show(Story(18, frames=40))
        self.browser.call("Emulation.setDeviceMetricsOverride", width=380, height=800, deviceScaleFactor=1,
                          mobile=False)
        self.addCleanup(self.browser.call, "Emulation.clearDeviceMetricsOverride")
        self.browser.evaluate("new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
        self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), 380)

    def test_everything_has_a_name(self):
        """Of what can be operated, and of each picture."""
        self.show(Story(19, frames=40))
        self.browser.evaluate("document.querySelector('#requests-table button[data-request]').click()")
        self.browser.call("Accessibility.enable")
        nodes = self.browser.call("Accessibility.getFullAXTree")["nodes"]
        roles = {"button", "slider", "combobox", "checkbox", "searchbox", "spinbutton", "img", "image", "table", "region"}
        unnamed = [node["role"]["value"] for node in nodes if not node.get("ignored")
                   and node["role"]["value"] in roles - {"table"} and not node.get("name", {}).get("value")]
        self.assertEqual([], unnamed)


class Texts(html.parser.HTMLParser):
    """The cells of the tables of a page, by the table's id, as they stand in its bytes."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.table, self.cell = {}, None, None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "table":
            self.table = self.tables.setdefault(dict(attributes).get("id"), [])
        elif tag == "tr" and self.table is not None:
            self.table.append([])
        elif tag in ("td", "th"):
            self.table[-1].append("")
            self.cell = True

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.cell = None

    def handle_data(self, data):
        if self.cell:
            self.table[-1][-1] += data


class BytesTest(PageTest):
    """What is in the page before, and without, a script."""

    def test_the_tables_are_the_same_without_scripts(self):
        self.show(Story(20))
        static = Texts(self.page.read_text()).tables
        shown = [row["texts"] for row in self.rows()]
        strip = [[shown_row[0].lstrip("1234567"), *shown_row[1:]] for shown_row in shown]
        self.assertEqual([[row[0].lstrip("1234567"), *row[1:]] for row in static["groups"][1:]], strip)
        books = dict(row["texts"] for row in self.rows("#books"))
        for label, text in static["books"]:
            if label not in ("events_lost", "Correlator's own CPU"):
                self.assertEqual(text, books[label].split(" ns = ")[0] + " ns" if label == "residual" else books[label])

    def test_scripts_may_be_forbidden(self):
        self.browser.call("Emulation.setScriptExecutionDisabled", value=True)
        self.addCleanup(self.browser.call, "Emulation.setScriptExecutionDisabled", value=False)
        self.show(Story(21))
        root = self.browser.call("DOM.getDocument")["root"]["nodeId"]
        outer = self.browser.call("DOM.getOuterHTML", nodeId=root)["outerHTML"]
        self.assertNotIn('class="has-script"', outer)
        tables = Texts(outer).tables
        self.assertEqual({row["key"] for row in self.json("--by", "endpoint")["rows"]},
                         {row[0] for row in tables["groups"]} - {"endpoint", "(no endpoint)", "unattributed", "overflow", "total"})
        self.assertEqual("residual", tables["books"][4][0])
        hidden = self.browser.call("DOM.querySelector", nodeId=root, selector="#time")["nodeId"]
        self.browser.call("CSS.enable")
        style = self.browser.call("CSS.getComputedStyleForNode", nodeId=hidden)["computedStyle"]
        self.assertIn({"name": "display", "value": "none"}, style)

    def test_nothing_of_the_target_is_markup(self):
        self.show(Story(22))
        text = self.page.read_text()
        self.assertEqual(text.count("<script"), text.count("</script>"))
        self.assertEqual(3, text.count("<script"))  # the report, the data, the page's own
        self.assertNotIn("<img", text)
        self.assertNotIn("\u2028", text)
        # Beside that in the comment at its beginning.
        self.assertEqual(1, text.count("<!--"))
        keys = {row["key"] for row in self.rows() if row["kind"] == "group"}
        self.assertTrue({name for name in HOSTILE if "\u2028" not in name} <= keys)
        self.check_quiet()

    def test_its_policy_forbids_what_is_not_its_own(self):
        self.show(Story(23))
        self.browser.evaluate("""(script => { script.textContent = "window.pwned = 1"; document.body.append(script); })
            (document.createElement("script"))""")
        self.browser.evaluate("""(image => { image.src = "https://127.0.0.1:9/x"; document.body.append(image); })
            (document.createElement("img"))""")
        self.assertIsNone(self.browser.evaluate("window.pwned"))
        self.assertTrue(any("Content Security Policy" in said for said in self.browser.complaints()))


class CompareTest(PageTest):
    def test_two_recordings_beside_each_other(self):
        first, second = Story(30), Story(31)
        other = pathlib.Path(self.folder.name) / "other.rec"
        other.write_bytes(second.data)
        self.show(first, "--compare", other)
        reports = [self.json("--by", "endpoint"), self.json("--by", "endpoint", path=other)]
        rows = {row["key"]: row["values"] for row in self.rows("#compare-table") if row["kind"] == "group"}
        sides = [{row["key"]: row for row in report["rows"]} for report in reports]
        self.assertEqual(set(sides[0]) | set(sides[1]), set(rows))
        for key in set(sides[0]) & set(sides[1]):
            for field in "cpu_mean", "cpu_p99", "wall_mean", "wall_p99":
                values = [side[key][f"{field}_ns"] for side in sides]
                self.assertEqual([str(value) for value in values], [rows[key][f"{field} A"], rows[key][f"{field} B"]])
                self.assertAlmostEqual(100 * (values[1] - values[0]) / values[0], float(rows[key][f"{field} change"]), 6)
        self.check_groups(reports[0])
        self.browser.evaluate("""(side => { side.value = "1"; side.dispatchEvent(new Event("change")); })
            (document.getElementById("side"))""")
        self.check_groups(reports[1])
        self.check_quiet()

    def paths(self, path):
        said = json.loads(correlator("report", "--stacks", "-f", "json", path))
        return CodeTest.paths(self, said["branches"], "samples")

    def check_changes(self, here, there, direction):
        """Of each frame what the other one has there, too, and the colour of what changed for sure."""
        found = self.browser.evaluate("""[...document.querySelectorAll("#code-graph g.frame")].slice(1).map(({ dataset, classList }) =>
            [Number(dataset.depth), dataset.name, Number(dataset.total), Number(dataset.other), classList[1]])""")
        expected = {(len(path), path[-1][0], figures[0]): there.get(path, (0,))[0] for path, figures in here.items()}
        self.assertGreater(len(found), 3)
        for depth, name, total, other, colour in found:
            self.assertEqual(expected[depth, name, total], other)
            if other == 0 and total > sum(figures[0] for path, figures in here.items() if len(path) == 1) / 3:
                self.assertRegex(colour, f"change-{direction}-4")

    def test_where_code_changed(self):
        first, second = Story(32, frames=40), Story(33, frames=40)
        other = pathlib.Path(self.folder.name) / "other.rec"
        other.write_bytes(second.data)
        self.show(first, "--compare", other)
        sides = [self.paths(path) for path in (self.path, other)]
        CodeTest.choose(self, "code-colours", "change")
        self.check_changes(*sides, "down")
        line = self.browser.evaluate("document.getElementById('code-line').textContent")
        self.assertRegex(line, r"^all of it: .*; a request on average: A .*, B ")
        CodeTest.choose(self, "side", 1)
        self.check_changes(*sides[::-1], "up")
        # The same of the callers and callees of a method, which may be in one of both only.
        for number in range(len(self.rows("#code-methods"))):
            self.browser.evaluate(f"document.querySelectorAll('#code-methods button')[{number}].click()")
        CodeTest.choose(self, "code-colours", "kind")
        self.assertEqual([], self.browser.evaluate("[...document.querySelectorAll('#code-graph [data-other]')]"))
        self.check_quiet()

    def test_a_group_that_the_other_one_lacks(self):
        """Nothing of the other one is beside it, and nothing beside the total."""
        first, second = Story(30), Story(31, requests=2)
        other = pathlib.Path(self.folder.name) / "other.rec"
        other.write_bytes(second.data)
        self.show(first, "--compare", other)
        keys = [{row["key"] for row in self.json("--by", "endpoint", path=path)["rows"]} for path in (None, other)]
        key = min(keys[0] - keys[1])
        self.pick(key)
        rows = self.rows("#compare-table")
        self.assertEqual([key, "total"], [row["key"] for row in rows])
        for row in rows:
            self.assertIsNotNone(row["values"]["cpu_mean A"])
            self.assertIsNone(row["values"]["cpu_mean B"])
            self.assertIsNone(row["values"]["cpu_mean change"])


def main():
    if not browser.find():
        print("SKIP: there is no chromium")
        sys.exit(FAILED if os.environ.get("CI") == "true" else SKIPPED)
    unittest.main(verbosity=2)


if __name__ == "__main__":
    main()
