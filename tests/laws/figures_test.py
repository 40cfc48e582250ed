# SPDX-License-Identifier: GPL-2.0-only
"""Each figure that a view has can be asked for in each format, and is shown; each other one is refused by
name, with those that there are. Of the golden recordings, so no clock is compared."""
import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

BUILD = pathlib.Path(os.environ["CORRELATOR_BUILD"])
SOURCE = pathlib.Path(__file__).resolve().parents[2]
RECORDING = SOURCE / "fixtures/golden/shop.rec"
sys.path.insert(0, str(SOURCE / "tests/unit/command"))

import figure_list  # pylint: disable=wrong-import-position

VIEWS = {"endpoint": [], "request_id": [], "slowest": ["--slowest"], "pid": [], "tid": [], "comm": [],
         "thread_name": [], "host_name": [], "attribution": [], "endpoint,pid": []}
FORMS = "table", "json", "csv", "ndjson"
USAGE = 2


def report(*arguments):
    environment = {"PATH": os.environ["PATH"], "TZ": "UTC", "COLUMNS": "2000"}
    return subprocess.run([BUILD / "bin/correlator", "report", *arguments, RECORDING], capture_output=True, text=True,
                          env=environment, timeout=60, check=False)


def names_in(text):
    return re.split(r",\s+", re.search(r"(?:one\s+of|it\s+has)\s+(.*)", text, re.S)[1].strip())


def by(view):
    return VIEWS[view] or ["--by", view]


def heading(output):
    return re.split("  +", output.split("\n\n")[1].split("\n")[0].strip())


def rows_of(text, form):
    if form == "table":
        return [line for line in text.splitlines() if "total" in line]
    if form == "csv":
        return list(csv.DictReader(io.StringIO(text)))
    if form == "ndjson":
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(text)["rows"]


class FiguresTest(unittest.TestCase):
    def setUp(self):
        self.names = names_in(report("--sort", "?").stderr)
        self.assertLess(50, len(self.names))

    def had(self, view):
        """The names that the view has, as it says where another is asked for."""
        for name in ("key_4", "wall_p99", "wall"):
            result = report(*by(view), "--columns", name)
            if result.returncode == USAGE:
                return names_in(result.stderr)
        raise AssertionError(f"{view}: has everything")

    def test_each_view_shows_what_it_has_and_refuses_what_it_has_not(self):
        for view in VIEWS:
            had = [name for name in self.had(view) if not name.startswith("key")]
            self.assertLess(30, len(had))
            with self.subTest(view=view):
                result = report(*by(view), "--columns", ",".join(had))
                self.assertEqual((0, ""), (result.returncode, result.stderr))
                titles = [re.sub(r" \(.*", "", title) for title in heading(result.stdout)]
                self.assertEqual([figure_list.titles()[name] for name in had], titles[-len(had):])
            for name in set(self.names) - set(self.had(view)):
                with self.subTest(view=view, name=name):
                    result = report(*by(view), "--columns", name)
                    self.assertEqual((USAGE, ""), (result.returncode, result.stdout))
                    self.assertIn(f"has no {name}; it has", result.stderr)

    def test_each_view_sorts_by_each_name_and_has_the_same_rows_and_figures_then(self):
        """In one of the forms; each name over all views in each form."""
        for view_number, view in enumerate(VIEWS):
            had, known = self.had(view), {}
            for number, name in enumerate(self.names):
                form = FORMS[(view_number + number) % len(FORMS)]
                if form == "table" and name not in had:
                    continue
                with self.subTest(view=view, form=form, name=name):
                    result = report(*by(view), "--format", form, "--sort", name, "--top", "0")
                    self.assertEqual((0, ""), (result.returncode, result.stderr))
                    rows = rows_of(result.stdout, form)
                    self.assertEqual(known.setdefault(form, sorted(map(str, rows))), sorted(map(str, rows)))

    def test_data_has_a_field_for_each_figure_of_time(self):
        for form in ("json", "csv", "ndjson"):
            fields = set().union(*rows_of(report("--by", "request_id", "--format", form).stdout, form))
            for name in ("cpu", "user", "kernel", "run_queue", "blocked", "stolen", "ambiguous", "uninterruptible", "wall"):
                self.assertIn(f"{name}_ns", fields, form)


if __name__ == "__main__":
    unittest.main()
