# SPDX-License-Identifier: GPL-2.0-only
"""Each view of a report says the same as CSV, as lines of JSON and as a document. CORRELATOR names the binary."""
import csv
import io
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import forged_records

CORRELATOR = os.environ["CORRELATOR"]
GOLDEN = pathlib.Path(__file__).resolve().parents[3] / "fixtures" / "golden"
SHOP, STACKS = GOLDEN / "shop.rec", GOLDEN / "stacks.rec"

# Where a document has the rows of each kind that lines have: its arrays, and their rows' own members.
TOTALS = {"rows": "group", "hidden": "hidden", "without_key": "without_key", "unattributed": "unattributed",
          "overflow": "overflow", "total": "total"}
SERIES = {"steps": "step", "total": "total"}
PARTS = {"groups": "group", "unattributed": "unattributed", "overflow": "overflow"}
DIFF = {"rows": "group", "hidden": "hidden", "all": "all"}
STORY = {"request": "request", "threads": "thread", "windows": "window", "slices": "slice", "beside": "beside"}
CODE = {"branches": "branch", "methods": "method"}


def say(*words):
    result = subprocess.run([CORRELATOR, "report", *map(str, words)], capture_output=True, check=True, timeout=60,
                            env={"PATH": os.environ["PATH"], "TZ": "UTC"})
    return result.stdout.decode()


def read_csv(*words):
    return list(csv.DictReader(io.StringIO(say(*words, "-f", "csv"), newline="")))


def read_lines(*words):
    return [json.loads(line) for line in say(*words, "-f", "ndjson").splitlines()]


def as_text(value):
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def flat(line):
    """A line of JSON with the columns of CSV."""
    by = line.get("by", "").split(",")
    row = {}
    for name, value in line.items():
        if name == "by":
            continue
        if name == "key":
            row[by[0]] = as_text(value)
        elif name == "keys" and "by" in line:
            row |= {key: as_text(text) for key, text in value.items()}
        elif isinstance(value, dict):
            row |= {f"{name}_{member}": as_text(figure) for member, figure in value.items()}
        else:
            row[name] = as_text(value)
    return row


def as_list(value):
    return value if isinstance(value, list) else [value]


def rows_of(document, kinds, parts=None):
    """What a document has of these kinds, as lines without what it is by."""
    rows = []
    for member, kind in kinds.items():
        for row in as_list(document.get(member, [])):
            inner = {name: row.pop(name) for name in parts or () if name in row}
            rows.append({"row": kind, **row})
            rows += [{"row": parts[name], **part} for name, found in inner.items() for part in as_list(found)]
    return rows


class FormatsTest(unittest.TestCase):
    maxDiff = None

    def check(self, *words, kinds, parts=None, repeated=()):
        """repeated: what lines of parts have of the row around them."""
        lines = read_lines(*words)
        self.assertTrue(lines)
        self.assertEqual([flat(line) for line in lines],
                         [{name: cell for name, cell in row.items() if cell != ""} for row in read_csv(*words)])
        wanted = rows_of(json.loads(say(*words, "-f", "json")), kinds, parts)
        found = []
        for line in lines:
            is_part = line["row"] in (parts or {}).values()
            line.pop("by", None)
            found.append({name: value for name, value in line.items() if not (is_part and name in repeated)})
        self.assertEqual(wanted, [line for line in found if line["row"] in {row["row"] for row in wanted}])

    def test_totals(self):
        for by in "endpoint", "request_id", "tid", "pid,comm", "endpoint,attribution":
            with self.subTest(by):
                self.check("--by", by, "--top", 1, SHOP, kinds=TOTALS)

    def test_what_is_over_time(self):
        for by in "endpoint", "endpoint,thread_name":
            with self.subTest(by):
                self.check("--over-time", "--by", by, SHOP, kinds=SERIES, parts=PARTS, repeated=("start_ns", "end_ns"))

    def test_what_changed(self):
        self.check("--diff", "--top", 1, SHOP, SHOP, kinds=DIFF)
        self.check("--diff", "--stacks", STACKS, STACKS, kinds={"methods": "method", "all": "all"})

    def test_a_story(self):
        for request in "req-1", "req-2":
            with self.subTest(request):
                self.check("--request", request, SHOP, kinds=STORY)

    def test_code(self):
        for order in "top-down", "bottom-up":
            with self.subTest(order):
                self.check(f"--stacks={order}", STACKS, kinds=CODE)

    def check_lists(self, option, recorded, member):
        """member: what a group of a document lists, and a line of its own is in the other formats."""
        with tempfile.NamedTemporaryFile() as recording:
            recording.write(recorded)
            recording.flush()
            words = option, recording.name
            lines = read_lines(*words)
            self.assertTrue(lines)
            self.assertEqual([flat(line) for line in lines],
                             [{name: cell for name, cell in row.items() if cell != ""} for row in read_csv(*words)])
            groups = json.loads(say(*words, "-f", "json"))["groups"]
            names = "row", "by", "endpoint", "requests"
            self.assertEqual([listed for group in groups for listed in group[member]],
                             [{name: value for name, value in line.items() if name not in names} for line in lines])

    def test_system_calls(self):
        self.check_lists("--syscalls", forged_records.syscalls(), "calls")

    def test_reads_and_writes(self):
        self.check_lists("--io", forged_records.io(), "on")


if __name__ == "__main__":
    unittest.main()
