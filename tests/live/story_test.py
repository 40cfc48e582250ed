# SPDX-License-Identifier: GPL-2.0-only
"""`record --timeline` of a request whose story is known: what `report --request`, the page of
`report --html` and Perfetto's trace tell of it."""
import json
import os
import pathlib
import re
import sys

import harness
from harness import Recording, Workload, run_correlator

os.environ.setdefault("CORRELATOR_BUILD", str(harness.BUILD))
sys.path[:0] = [str(harness.SOURCE / "tests" / folder) for folder in ("html", "unit/command")]
import html_test  # noqa: E402
import perfetto_trace  # noqa: E402

KEYS = ("-k", "request_id", "-k", "endpoint")
# What the steps of fixtures/story.rb are.
STEPS = ("running", "blocked", "run_queue", "blocked", "running")
# The kernel's clock of the scheduler against the wall clock, and the way into a sleep and out of it.
# What the workload itself does not know (how far apart it read its clocks) comes on top.
TOLERANCE_NS = 50_000


class PinnedWorkload(Workload):
    """On one CPU, with all that it starts."""

    cpu = min(os.sched_getaffinity(0))

    def command(self, script, *arguments):
        return ["taskset", "--cpu-list", self.cpu, *super().command(script, *arguments)]


class Step:
    """From one reading of the workload's clocks to the next one."""

    def __init__(self, before, after):
        self.begin_ns, self.end_ns = ((clocks["begun_ns"] + clocks["ended_ns"]) // 2
                                      for clocks in (before, after))
        self.cpu_ns, self.waited_ns = (after[name] - before[name] for name in ("cpu_ns", "waited_ns"))
        self.length_ns = self.end_ns - self.begin_ns
        self.tolerance_ns = TOLERANCE_NS + sum(clocks["ended_ns"] - clocks["begun_ns"]
                                               for clocks in (before, after))

    def times(self, slices):
        """How long its thread was in each state, by the slices."""
        times = dict.fromkeys(("running", "run_queue", "blocked"), 0)
        for piece in slices:
            begin, end = max(self.begin_ns, piece["start_ns"]), min(self.end_ns, piece["end_ns"])
            if begin < end:
                times[piece["state"].replace("uninterruptible", "blocked")] += end - begin
        return times


class StoryTest(html_test.PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recording = pathlib.Path(cls.folder.name) / "story.msgpack"
        with PinnedWorkload("story.rb", environment={"GROUND_TRUTH": "off"}) as workload, \
                Recording(cls.recording, "-p", workload.pid, *KEYS, "--timeline") as recording:
            workload.say("go")
            readings = json.loads(workload.process.stdout.readline())
            if workload.process.stdout.readline() != "done\n" or recording.stop() != harness.EXIT_OK:
                raise RuntimeError(recording.messages)
        cls.steps = [Step(*pair) for pair in zip(readings, readings[1:])]

    def setUp(self):
        super().setUp()
        self.path = self.recording

    def report(self, *options):
        result = run_correlator("report", *options, self.path,
                                env={**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": "140"})
        self.assertEqual((harness.EXIT_OK, ""), (result.returncode, result.stderr))
        return result.stdout

    def story(self):
        return json.loads(self.report("--request", "story", "-f", "json"))

    def test_each_step_is_told_as_the_workload_knows_it(self):
        story = self.story()
        self.assertEqual(("slice", 0, 0), tuple(story["timeline"][name] for name in (
            "by", "slices_lost", "left_out")))
        stolen_ns = story["request"]["stolen_ns"]
        for what, step in zip(STEPS, self.steps):
            with self.subTest(what=what, tolerance_ns=step.tolerance_ns):
                times = step.times(story["slices"])
                slept_ns = 0
                if what == "blocked":
                    slept_ns = step.length_ns - step.cpu_ns - step.waited_ns
                    self.assertGreater(slept_ns, 15_000_000)
                if what == "run_queue":
                    self.assertGreater(step.waited_ns, 1_000_000)
                self.assertAlmostEqual(step.waited_ns, times["run_queue"], delta=step.tolerance_ns)
                self.assertAlmostEqual(slept_ns, times["blocked"], delta=step.tolerance_ns + stolen_ns)
                self.assertAlmostEqual(step.length_ns - slept_ns - step.waited_ns, times["running"],
                                       delta=step.tolerance_ns + stolen_ns)

    def test_it_ran_on_one_cpu_and_waited_for_its_rival(self):
        story = self.story()
        self.assertEqual({PinnedWorkload.cpu}, {piece["cpu_number"] for piece in story["slices"]
                                                if piece["state"] == "running"})
        waited_ns = story["request"]["run_queue_ns"]
        rival, = [other for other in story["beside"] if other.get("request_id") == "rival"]
        self.assertEqual("GET /rival", rival["endpoint"])
        self.assertLessEqual(rival["ahead_ns"], waited_ns)
        self.assertGreater(rival["ahead_ns"], 0)

    def test_the_picture_has_it_in_its_order(self):
        text = self.report("--request", "story")
        self.assertIn("slices, to the nanosecond", text)
        lane, = re.findall(r"[█▒·•]{20,}", text)
        self.assertRegex(lane, "^[█▒]+[·•]+[█▒]+[·•]+[█▒]+$")
        self.assertRegex(text, r"(?m)^\d+/\d+ .* rival +GET /rival")

    def test_the_page_says_what_json_says(self):
        html_test.correlator("report", "--html", self.page, self.path)
        self.browser.open(self.page)
        self.check_all()
        self.browser.evaluate("""[...document.querySelectorAll("#requests-table button[data-request]")]
            .find(button => button.textContent.includes("story")).focus()""")
        self.browser.press("Enter")
        story = self.story()
        told_ns = self.browser.evaluate("""[...document.querySelectorAll("tr.story td[data-field=cpu]")]
            .reduce((sum, cell) => sum + Number(cell.dataset.value), 0)""")
        self.assertEqual(story["request"]["cpu_ns"], told_ns)
        self.check_quiet()

    @staticmethod
    def bar_name(piece):
        reason = piece.get("blocked_on")
        return f"{piece['state']}: {reason}" if reason else piece["state"]

    def test_so_does_the_trace_for_perfetto(self):
        story = self.story()
        packets = perfetto_trace.packets(self, html_test.correlator(
            "export", "-f", "perfetto", self.path))
        tracks = perfetto_trace.tracks(packets)
        bars = [bar for bar in perfetto_trace.bars(self, packets, "request")
                if tracks[tracks[bar[0]]["parent_uuid"][0]]["name"] == ["story"]]
        self.assertEqual([(piece["start_ns"], piece["end_ns"], self.bar_name(piece), piece.get("cpu_ns"))
                          for piece in story["slices"]],
                         sorted((bar[1], bar[2], bar[3], bar[4].get("cpu_ns")) for bar in bars))
        total = json.loads(self.report("-f", "json"))["total"]["cpu_ns"]
        for category in "thread", "window":
            self.assertEqual(total, sum(bar[4].get("cpu_ns", 0) for bar in
                                        perfetto_trace.bars(self, packets, category)), category)


if __name__ == "__main__":
    harness.main("chromium", "protoc", "taskset")
