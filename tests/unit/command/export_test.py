# SPDX-License-Identifier: GPL-2.0-only
"""The export subcommand: what other tools read of a recording, by their own parsers, and that sums
are the report's. CORRELATOR names the binary."""
import csv
import gzip
import io
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
from decimal import Decimal

import perfetto_trace
from forged_records import STACKS_CPU, START, Records, stacks, too_deep, waits
from prometheus_client.openmetrics.parser import text_string_to_metric_families

CORRELATOR = os.environ["CORRELATOR"]
TREE = pathlib.Path(__file__).resolve().parents[3]
RECORDING = TREE / "fixtures" / "golden" / "shop.rec"
OK, FAILURE, USAGE = 0, 1, 2
FORMATS = "ndjson", "csv", "openmetrics", "perfetto", "folded", "pprof", "speedscope", "otlp"


def run(command, *arguments, **options):
    return subprocess.run([CORRELATOR, command, *map(str, arguments)], timeout=60, check=False,
                          env={"PATH": os.environ["PATH"], "LC_ALL": "C"}, capture_output=True,
                          **options)


def timeline():
    """A request that is woken by another thread, in two windows, on two threads."""
    records = Records().add("process", comm="puma", event="found", mode="exact")
    own = {"tid": 11, "thread_name": "one", "request_id": "r-1", "endpoint": "GET /a"}
    other = {"tid": 12, "thread_name": "two", "request_id": "", "endpoint": ""}
    for fields in (
            {**own, "state": "running", "start_ns": START, "end_ns": START + 40, "cpu_number": 0,
             "cpu_ns": 39},
            {**own, "state": "blocked", "start_ns": START + 40, "end_ns": START + 100},
            {**other, "state": "running", "start_ns": START + 50, "end_ns": START + 120,
             "cpu_number": 0, "cpu_ns": 70},
            {**own, "state": "run_queue", "start_ns": START + 100, "end_ns": START + 120,
             "woken_by_pid": 7, "woken_by_tid": 12},
            {**own, "state": "running", "start_ns": START + 120, "end_ns": START + 125,
             "cpu_number": 0, "cpu_ns": 5}):
        records.add("slice", **fields)
    records.add("cpu", **own, window_ns=10 ** 9, cpu_ns=44, run_queue_ns=20, blocked_ns=60,
                first_ns=START, last_ns=START + 125)
    records.add("cpu", **other, window_ns=10 ** 9, cpu_ns=70, run_queue_ns=0, blocked_ns=0,
                first_ns=START + 50, last_ns=START + 120)
    return records.data


class Test(unittest.TestCase):
    def export(self, format_name, *arguments, said=b"", **options):
        result = run("export", "--format", format_name, *arguments, **options)
        self.assertEqual((OK, said), (result.returncode, result.stderr))
        return result.stdout

    def rows(self, *arguments, **options):
        """Of the report, by what they are."""
        result = run("report", "--format", "ndjson", *arguments, **options)
        self.assertEqual(OK, result.returncode)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def total(self, *arguments, **options):
        return next(row for row in self.rows(*arguments, **options) if row["row"] == "total")


class NdjsonTest(Test):
    def test_it_is_what_dump_prints(self):
        self.assertEqual(run("dump", RECORDING).stdout, self.export("ndjson", RECORDING))

    def test_a_record_that_is_there_twice_is_written_once(self):
        self.assertEqual(run("dump", RECORDING).stdout, self.export("ndjson", RECORDING, RECORDING))

    def test_with_where_there_are_records_of_what_is_wanted_and_of_processes(self):
        lines = [json.loads(line) for line in
                 self.export("ndjson", "--where", "request_id=req-1", RECORDING).splitlines()]
        self.assertEqual(["meta", "process", "cpu", "cpu", "process"],
                         [line["kind"] for line in lines])

    def test_a_request_is_chosen_as_a_whole(self):
        records = Records()
        for request, endpoint in (("a", None), ("b", None), ("b", "GET /no"), ("c", None),
                                  ("a", "GET /yes"), ("a", None), ("b", None)):
            fields = {"endpoint": endpoint} if endpoint else {}
            records.add("cpu", tid=1, request_id=request, cpu_ns=1 << records.number, flags=["inherited"],
                        **fields)
        where = ["--where", "endpoint=GET /yes"]
        lines = [json.loads(line) for line in
                 self.export("ndjson", *where, "-", input=records.data).splitlines()]
        self.assertEqual([1, 16, 32], [line["cpu_ns"] for line in lines])
        self.assertEqual([["inherited"]] * 3, [line["flags"] for line in lines])
        self.assertEqual(49, self.total(*where, "-", input=records.data)["cpu_ns"])

    def test_windows_are_chosen_by_time(self):
        records = Records()
        for second in range(5):
            records.add("cpu", wall=START + second * 10 ** 9, tid=1, request_id="a", cpu_ns=second)
        lines = [json.loads(line) for line in self.export(
            "ndjson", "--since", "1s", "--until", "3s", "-", input=records.data).splitlines()]
        self.assertEqual([2, 3], [line["cpu_ns"] for line in lines])


class CsvTest(Test):
    def read(self, data):
        self.assertTrue(data.endswith(b"\r\n"))
        return list(csv.DictReader(io.StringIO(data.decode(), newline="")))

    def test_every_field_of_each_cpu_record_has_a_column(self):
        records = [json.loads(line) for line in
                   run("dump", "--kind", "cpu", RECORDING).stdout.splitlines()]
        rows = self.read(self.export("csv", RECORDING))
        self.assertEqual(len(records), len(rows))
        for record, row in zip(records, rows):
            for name in "schema", "kind":
                del record[name]
            record["flags"] = " ".join(record.get("flags", []))
            self.assertEqual({name: str(value) for name, value in record.items()},
                             {name: value for name, value in row.items()
                              if value or name in record})

    def test_its_sums_are_those_of_the_report(self):
        total = self.total("--by", "request_id", RECORDING)
        rows = self.read(self.export("csv", RECORDING))
        for name in ("cpu_ns", "user_ns", "kernel_ns", "run_queue_ns", "blocked_ns",
                     "uninterruptible_ns", "syscalls", "slices"):
            self.assertEqual(total[name], sum(int(row[name]) for row in rows), name)

    def test_what_is_in_no_context_is_quoted_and_what_has_no_key_is_not(self):
        records = Records().add("meta", keys=["request_id", "tenant"])
        records.add("cpu", tid=1, request_id="", cpu_ns=1).add("cpu", tid=1, tenant="x", cpu_ns=1)
        lines = self.export("csv", "-", input=records.data).split(b"\r\n")
        self.assertIn(b',web,7,,,"",,1,', lines[1])
        self.assertIn(b",web,7,,,,x,1,", lines[2])

    def test_keys_that_come_later_are_in_the_last_column(self):
        records = Records().add("cpu", tid=1, request_id="a", cpu_ns=1)
        records.add("cpu", tid=1, request_id="b", cpu_ns=1, tenant="x", queue="y")
        rows = self.read(self.export("csv", "-", input=records.data))
        self.assertEqual(["", "tenant=x queue=y"], [row["other_keys"] for row in rows])

    def test_a_list_has_its_items_apart(self):
        records = Records().add("cpu", tid=1, request_id="a", cpu_ns=1, flags=["inherited", "late", "x"])
        rows = self.read(self.export("csv", "-", input=records.data))
        self.assertEqual("inherited late x", rows[0]["flags"])

    def test_a_formula_is_text(self):
        records = Records().add("cpu", tid=1, request_id='=1+"2",', cpu_ns=1)
        rows = self.read(self.export("csv", "-", input=records.data))
        self.assertEqual("'=1+\"2\",", rows[0]["request_id"])

    def test_without_a_row_there_is_the_header(self):
        data = self.export("csv", "-", input=Records().add("meta", keys=["request_id"]).data)
        self.assertEqual(1, data.count(b"\r\n"))
        self.assertIn(b",request_id,", data)


class OpenmetricsTest(Test):
    def families(self, text):
        self.assertTrue(text.endswith(b"# EOF\n"))
        return {family.name: family for family in text_string_to_metric_families(text.decode())}

    def check(self, *arguments, by="endpoint"):
        text = self.export("openmetrics", *arguments)
        families = self.families(text)
        rows = self.rows("--by", by, *(argument for argument in arguments if argument not in ("--by", by)))
        for field in "cpu", "user", "kernel", "run_queue", "blocked", "uninterruptible", "stolen":
            samples = families[f"correlator_{field}_seconds"].samples
            for row in rows[:-1]:
                found = [sample for sample in samples if sample.labels["row"] == row["row"] and
                         sample.labels.get(by) == row.get("key")]
                self.assertEqual(1, len(found), row)
            # Exactly, which the parser's floating point would not say.
            exact = re.findall(rf"^correlator_{field}_seconds_total\{{.*\}} (\S+) \S+$", text.decode(),
                               re.M)
            self.assertEqual(rows[-1][f"{field}_ns"], sum(map(Decimal, exact)) * 10 ** 9, field)
        self.assertEqual(sum(row["syscalls"] for row in rows[:-1]),
                         sum(sample.value for sample in families["correlator_syscalls"].samples))
        return rows, families

    def test_its_sums_are_those_of_the_report(self):
        rows, families = self.check(RECORDING)
        for field in "cpu", "wall":
            samples = families[f"correlator_request_{field}_seconds"].samples
            for row in rows:
                if row["row"] != "group":
                    continue
                named = {(sample.name.rpartition("_")[2], sample.labels.get("quantile")): sample.value
                         for sample in samples if sample.labels.get("endpoint") == row["key"]}
                self.assertEqual(row["requests"], named["count", None])
                self.assertAlmostEqual(row[f"{field}_mean_ns"] * row["requests"] / 1e9,
                                       named["sum", None], 7)
                for quantile, figure in ("0.5", "p50"), ("0.9", "p90"), ("0.99", "p99"), ("1.0", "max"):
                    self.assertAlmostEqual(row[f"{field}_{figure}_ns"] / 1e9,
                                           named["seconds", quantile], 12)
        requests = {sample.labels["endpoint"]: sample.value
                    for sample in families["correlator_requests"].samples}
        self.assertEqual({row["key"]: row["requests"] for row in rows if row["row"] == "group"},
                         requests)

    def test_by_another_key_or_by_what_ran(self):
        self.check("--by", "request_id", RECORDING, by="request_id")
        self.check("--by", "thread_name", RECORDING, by="thread_name")

    def test_with_where_it_is_of_what_is_wanted(self):
        self.check("--where", "endpoint=GET /orders", RECORDING)

    def test_each_sample_is_at_the_end_of_the_recording(self):
        for family in self.families(self.export("openmetrics", RECORDING)).values():
            for sample in family.samples:
                self.assertEqual("1700000001.123456789", str(sample.timestamp))

    def test_names_and_values_of_any_kind_are_valid(self):
        records = Records()
        for value in 'quote"', "back\\slash", "line\nfeed", "é", "{}":
            records.add("cpu", tid=1, **{"1.queue-name": value}, cpu_ns=1)
        families = self.families(self.export("openmetrics", "-", input=records.data))
        self.assertEqual({'quote"', "back\\slash", "line\\x0afeed", "é", "{}"},
                         {sample.labels["_1_queue_name"]
                          for sample in families["correlator_cpu_seconds"].samples
                          if sample.labels["row"] == "group"})

    def test_the_name_of_a_label_has_letters_digits_and_no_digit_first(self):
        for name, label in (("9z", "_9z"), ("0", "_0"), ("azAZ09", "azAZ09"), ("a/:@[`{é", "a________")):
            records = Records().add("cpu", tid=1, **{name: "x"}, cpu_ns=1)
            families = self.families(self.export("openmetrics", "-", input=records.data))
            self.assertEqual({"row", label}, set(families["correlator_cpu_seconds"].samples[0].labels))

    def test_a_key_with_the_name_of_a_label_gets_another(self):
        for name in "row", "quantile":
            records = Records().add("cpu", tid=1, **{name: "x"}, cpu_ns=1)
            families = self.families(self.export("openmetrics", "-", input=records.data))
            self.assertEqual("x", families["correlator_cpu_seconds"].samples[0].labels[f"key_{name}"])

    def test_a_key_that_no_record_has_is_refused(self):
        result = run("export", "-f", "openmetrics", "--by", "nix", RECORDING)
        self.assertEqual((FAILURE, b""), (result.returncode, result.stdout))
        self.assertIn(b"no record has the key nix", result.stderr)


@unittest.skipUnless(shutil.which("protoc"), "no protoc")
class PerfettoTest(Test):
    def read(self, *arguments, **options):
        return perfetto_trace.packets(self, self.export("perfetto", *arguments, **options))

    def bars(self, packets, category):
        return perfetto_trace.bars(self, packets, category)

    def tracks(self, packets):
        return perfetto_trace.tracks(packets)

    def test_each_slice_is_a_bar_of_its_thread(self):
        packets = self.read("-", input=timeline())
        tracks = self.tracks(packets)
        bars = self.bars(packets, "thread")
        threads = [tracks[bar[0]]["thread"][0] for bar in bars]
        self.assertEqual([11, 11, 12, 11, 11], [thread["tid"][0] for thread in threads])
        self.assertEqual(["one", "one", "two", "one", "one"],
                         [thread["thread_name"][0] for thread in threads])
        self.assertEqual([(START, START + 40, "GET /a"), (START + 40, START + 100, "blocked"),
                          (START + 50, START + 120, "running"),
                          (START + 100, START + 120, "run_queue"),
                          (START + 120, START + 125, "GET /a")], [bar[1:4] for bar in bars])
        self.assertEqual({"request_id": "r-1", "endpoint": "GET /a", "state": "running",
                          "start_ns": START, "end_ns": START + 40, "cpu_number": 0, "cpu_ns": 39},
                         bars[0][4])
        process = tracks[tracks[bars[0][0]]["parent_uuid"][0]]["process"][0]
        self.assertEqual(([7], ["puma on web"]), (process["pid"], process["process_name"]))

    def test_a_request_has_a_track_and_one_below_it_for_each_thread(self):
        packets = self.read("-", input=timeline())
        tracks = self.tracks(packets)
        bars = self.bars(packets, "request")
        self.assertEqual(["running", "blocked", "run_queue", "running"], [bar[3] for bar in bars])
        thread = tracks[bars[0][0]]
        self.assertEqual(["one 11"], thread["name"])
        request = tracks[thread["parent_uuid"][0]]
        self.assertEqual(["r-1"], request["name"])
        self.assertIn("process", tracks[request["parent_uuid"][0]])
        windows = self.bars(packets, "window")
        self.assertEqual(["GET /a", "window"], [bar[3] for bar in windows])
        self.assertEqual(["one 11 by window"], tracks[windows[0][0]]["name"])
        self.assertEqual(["r-1"], tracks[tracks[windows[0][0]]["parent_uuid"][0]]["name"])
        self.assertEqual(["no request"], tracks[tracks[windows[1][0]]["parent_uuid"][0]]["name"])

    def test_contexts_without_a_request_do_not_share_a_track(self):
        """Those of a thread go to and fro in a window, so their bars overlap; so do those of other flags, and of
        a request whose endpoint changes."""
        records = Records()
        for keys, begin, end in (({"endpoint": "GET /a"}, 0, 50), ({"endpoint": "GET /b"}, 30, 90),
                                 ({"endpoint": "GET /a", "tenant": "x"}, 10, 80), ({}, 5, 99),
                                 ({"endpoint": "GET /a", "flags": ["inherited"]}, 20, 60),
                                 ({"request_id": "r", "endpoint": "GET /a"}, 20, 60),
                                 ({"request_id": "r", "endpoint": "GET /b"}, 30, 70), ({"endpoint": "GET /a"}, 100, 150)):
            fields = {"request_id": "", "endpoint": "", "tenant": "", **keys}
            records.add("cpu", tid=11, thread_name="web", first_ns=START + begin, last_ns=START + end, cpu_ns=1, **fields)
            if "flags" not in keys:
                records.add("slice", tid=11, thread_name="web", state="running", start_ns=START + 200 + begin,
                            end_ns=START + 201 + begin, cpu_ns=1, **fields)
        packets = self.read("-", input=records.data)
        tracks, bars = self.tracks(packets), self.bars(packets, "window")
        ends = {}
        for track, begin, end, *_ in sorted(bars, key=lambda bar: bar[1]):
            self.assertLessEqual(ends.get(track, 0), begin)
            ends[track] = end
        names = [tracks[tracks[track]["parent_uuid"][0]]["name"][0] for track, *_ in bars]
        self.assertEqual(["GET /a", "GET /b", "GET /a, x", "no request", "GET /a", "r", "r", "GET /a"], names)
        self.assertEqual(bars[0][0], bars[-1][0])
        self.assertEqual(["GET /a", "running", "GET /a", "GET /a", "GET /b", "GET /b", "GET /a"],
                         [bar[3] for bar in sorted(self.bars(packets, "thread"), key=lambda bar: bar[1:4])])

    def test_a_fiber_that_works_for_a_request_has_a_track_of_its_own(self):
        records = Records()
        for number, (tid, request, fiber) in enumerate((
                (11, "r-1", 2), (11, "r-2", 3), (11, "r-1", 10), (11, "r-1", 2), (12, "r-1", 4),
                (11, "r-1", None), (11, "", None))):
            records.add("slice", tid=tid, thread_name="web", request_id=request, state="running",
                        start_ns=START + number, end_ns=START + number + 1, cpu_ns=1,
                        **({"fiber": fiber} if fiber else {}))
        packets = self.read("-", input=records.data)
        tracks = self.tracks(packets)
        lanes = [(tracks[tracks[bar[0]]["parent_uuid"][0]]["name"], tracks[bar[0]]["name"], bar[1] - START)
                 for bar in self.bars(packets, "request")]
        self.assertEqual([(["r-1"], ["web 11 fiber 2"], 0), (["r-2"], ["web 11 fiber 3"], 1),
                          (["r-1"], ["web 11 fiber 10"], 2), (["r-1"], ["web 11 fiber 2"], 3),
                          (["r-1"], ["web 12 fiber 4"], 4), (["r-1"], ["web 11"], 5)], lanes)
        threads = self.bars(packets, "thread")
        self.assertEqual([[11]] * 4 + [[12]] + [[11]] * 2,
                         [tracks[bar[0]]["thread"][0]["tid"] for bar in threads])
        self.assertEqual([2, 3, 10, 2, 4, None, None], [bar[4].get("fiber") for bar in threads])

    def test_the_tracks_of_a_request_are_in_the_order_that_they_begin_in(self):
        ordered = [track["name"] or "thread" for track in
                   self.tracks(self.read("-", input=timeline())).values() if track["child_ordering"]]
        self.assertEqual([["r-1"], ["no request"]], ordered)

    def test_who_woke_it_is_a_flow(self):
        packets = self.read("-", input=timeline())
        tracks = self.tracks(packets)
        events = [(packet["timestamp"][0], event) for packet in packets for event in packet["track_event"]]
        sources = [(time, event) for time, event in events if event["flow_ids"]]
        ends = [(time, event) for time, event in events if event["terminating_flow_ids"]]
        self.assertEqual((1, 1), (len(sources), len(ends)))
        (time, source), (end_time, end) = sources[0], ends[0]
        self.assertEqual(source["flow_ids"], end["terminating_flow_ids"])
        self.assertEqual((START + 100, START + 100), (time, end_time))
        self.assertEqual((["TYPE_INSTANT"], ["wakes 11 one"]), (source["type"], source["name"]))
        self.assertEqual(["wake"], source["categories"])
        self.assertEqual([12], tracks[source["track_uuid"][0]]["thread"][0]["tid"])
        self.assertEqual(["run_queue"], end["name"])

    def test_its_sums_are_those_of_the_report(self):
        total = self.total("--by", "request_id", "-", input=timeline())
        packets = self.read("-", input=timeline())
        for category in "thread", "window":
            self.assertEqual(total["cpu_ns"], sum(
                bar[4].get("cpu_ns", 0) for bar in self.bars(packets, category)), category)
        self.assertEqual(44, sum(bar[4].get("cpu_ns", 0) for bar in self.bars(packets, "request")))

    def test_without_slices_there_are_windows_and_a_warning(self):
        warning = (b"correlator: warning: the recording has no slices: the trace shows the records of windows, each from its "
                   b"first activity to its last; record with --timeline for every slice\n")
        packets = self.read(RECORDING, said=warning)
        total = self.total("--by", "request_id", RECORDING)
        bars = self.bars(packets, "window")
        for name in "cpu_ns", "user_ns", "run_queue_ns", "blocked_ns":
            self.assertEqual(total[name], sum(bar[4][name] for bar in bars), name)
        self.assertEqual((1700000000200000000, 1700000001100000000), bars[0][1:3])
        self.assertEqual([], self.bars(packets, "thread"))

    def test_what_is_not_told_apart_has_a_track_of_its_own(self):
        records = Records()
        for request, flags in ("", []), ("r", ["overflow"]), ("", ["unknown"]), ("overflow", []):
            records.add("slice", tid=1, request_id="", state="blocked", start_ns=START, end_ns=START)
            records.add("cpu", tid=1, request_id=request, flags=flags, cpu_ns=1, first_ns=START,
                        last_ns=START + 9)
        packets = self.read("-", input=records.data)
        tracks = self.tracks(packets)
        parents = [tracks[bar[0]]["parent_uuid"][0] for bar in self.bars(packets, "window")]
        self.assertEqual([["no request"], ["overflow"], ["no request"], ["overflow"]],
                         [tracks[parent]["name"] for parent in parents])
        self.assertNotEqual(parents[1], parents[3])

    def test_times_are_of_the_wall_clock(self):
        packets = self.read("-", input=timeline())
        clocks = {clock["clock_id"][0]: clock["timestamp"][0]
                  for clock in packets[0]["clock_snapshot"][0]["clocks"]}
        self.assertEqual({1: START + 10 ** 9, 6: START + 10 ** 9}, clocks)
        for packet in packets:
            self.assertEqual([1], packet["trusted_packet_sequence_id"])
            if packet["track_event"]:
                self.assertEqual([1], packet["timestamp_clock_id"])

    def test_a_track_is_described_once_and_again_when_its_name_changes(self):
        records = Records()
        for name in "one", "one", "two":
            records.add("slice", tid=1, thread_name=name, request_id="", state="running",
                        start_ns=START, end_ns=START, cpu_ns=0)
        packets = self.read("-", input=records.data)
        self.assertEqual([["one"], ["two"]],
                         [track["thread"][0]["thread_name"] for packet in packets
                          for track in packet["track_descriptor"] if track["thread"]])

    def test_names_may_be_short_or_long(self):
        records, long = Records(), "n" * 300
        own = {"tid": 1, "start_ns": START, "end_ns": START, "state": "running"}
        records.add("slice", **own, thread_name="t", request_id="r", endpoint="e")
        records.add("slice", **own, thread_name="t", request_id="r")
        records.add("slice", **{**own, "tid": 2}, thread_name=long, request_id=long, endpoint=long,
                    woken_by_pid=7, woken_by_tid=3)
        packets = self.read("-", input=records.data)
        tracks = self.tracks(packets)
        self.assertEqual(["e", "r", "n" * 255], [bar[3] for bar in self.bars(packets, "thread")])
        self.assertEqual([["t 1"], ["t 1"], ["n" * 255 + " 2"]],
                         [tracks[bar[0]]["name"] for bar in self.bars(packets, "request")])
        wakes = [event["name"] for packet in packets for event in packet["track_event"]
                 if event["type"] == ["TYPE_INSTANT"]]
        self.assertEqual([["wakes 2 " + "n" * 255]], wakes)

    def test_a_bar_carries_all_that_its_record_says(self):
        records = Records().add("slice", tid=1, state="blocked", start_ns=START, end_ns=START)
        records.add("cpu", tid=1, request_id="r", endpoint="e\x1b", flags=["inherited"],
                    **{f"n{number}": number for number in range(100, 160)})
        bar, = self.bars(self.read("-", input=records.data), "window")
        self.assertEqual(("r", "e\\x1b", 100, 159),
                         tuple(bar[4][name] for name in ("request_id", "endpoint", "n100", "n159")))
        self.assertEqual((False, False), ("flags" in bar[4], "tid" in bar[4]))

    def test_a_slice_without_sense_is_no_bar(self):
        records = Records()
        records.add("slice", tid=1, state="blocked", start_ns=START, end_ns=START - 1)
        records.add("slice", tid=1, state="blocked", start_ns=START)
        records.add("slice", tid=1, state="blocked", end_ns=START)
        records.add("slice", tid=1, state="blocked", start_ns=START, end_ns=START, request_id="r", woken_by_pid=7)
        packets = self.read("-", input=records.data)
        self.assertEqual([(START, START, "blocked")], [bar[1:4] for bar in self.bars(packets, "thread")])
        self.assertEqual([], [event for packet in packets for event in packet["track_event"]
                              if event["type"] == ["TYPE_INSTANT"]])

    def test_a_record_that_does_not_say_when_is_at_the_end_of_its_window(self):
        records = Records().add("slice", tid=1, state="blocked", start_ns=START, end_ns=START)
        for times in ({}, {"first_ns": START}, {"last_ns": START},
                      {"first_ns": START + 1, "last_ns": START}):
            records.add("cpu", tid=1, request_id="r", cpu_ns=4, **times)
        records.add("cpu", tid=1, request_id="r", cpu_ns=4, first_ns=START + 1, last_ns=START + 1)
        bars = self.bars(self.read("-", input=records.data), "window")
        self.assertEqual([(START + 10 ** 9, START + 10 ** 9)] * 4 + [(START + 1, START + 1)],
                         [bar[1:3] for bar in bars])


class PprofTest(Test):
    def setUp(self):
        self.profile = self.read("-", input=stacks())
        self.read_tables()

    def read_tables(self):
        self.texts = self.profile["string_table"]
        self.functions = {item["id"][0]: item for item in self.profile["function"]}
        self.locations = {item["id"][0]: item for item in self.profile["location"]}

    def read(self, *arguments, **options):
        return perfetto_trace.decode(self, "profile.proto", "perftools.profiles.Profile",
                                     gzip.decompress(self.export("pprof", *arguments, **options)))

    def text(self, message, field):
        return self.texts[(message[field] or [0])[0]]

    def frames(self, sample):
        """Innermost first: name, file, line, first line."""
        lines = [self.locations[location]["line"][0] for location in sample["location_id"]]
        functions = [self.functions[line["function_id"][0]] for line in lines]
        return [(self.text(function, "name"), self.text(function, "filename"), sum(line["line"]),
                 sum(function["start_line"])) for line, function in zip(lines, functions)]

    def labels(self, sample):
        return {self.text(label, "key"): label["num"][0] if label["num"] else self.text(label, "str")
                for label in sample["label"]}

    def test_all_cpu_is_there_to_the_nanosecond(self):
        self.assertEqual([("samples", "count"), ("cpu", "nanoseconds")],
                         [(self.text(item, "type"), self.text(item, "unit")) for item in self.profile["sample_type"]])
        self.assertEqual(STACKS_CPU, sum(sample["value"][1] for sample in self.profile["sample"]))
        self.assertEqual(104, sum(sample["value"][0] for sample in self.profile["sample"]))
        # Without a sample it is known whose the CPU is, and not where.
        not_sampled, = [sample for sample in self.profile["sample"]
                        if self.frames(sample) == [("[not sampled]", "", 0, 0)]]
        self.assertEqual(({"request_id": "r-4", "endpoint": "GET /c"}, [0, 6]),
                         (self.labels(not_sampled), not_sampled["value"]))

    def test_no_request_has_more_than_it_used_and_the_rest_of_its_endpoint_has_no_request(self):
        shared = {"endpoint": "GET /b", "pid": 7, "tid": 11}
        self.assertEqual([({**shared, "request_id": "r-2"}, 12, [1, 4]), (shared, 12, [0, 2]),
                          ({**shared, "request_id": "r-2"}, 14, [2, 9]), (shared, 14, [0, 3])],
                         [(self.labels(sample), self.frames(sample)[0][2], sample["value"])
                          for sample in self.profile["sample"]
                          if self.labels(sample).get("endpoint") == "GET /b"])

    def test_each_sample_has_its_stack_and_all_keys(self):
        found = [(self.frames(sample), self.labels(sample), sample["value"][0]) for sample in self.profile["sample"]]
        root, file = ("main", "/app/main.rb", 1, 1), "/app/order.rb"
        one = {"request_id": "r-1", "endpoint": "GET /a", "pid": 7}
        self.assertIn(([("Order#total", file, 12, 10), root], {**one, "tid": 11}, 30), found)
        self.assertIn(([("esc\\x1b[1m", file, 0, 0), ("Order#total", file, 14, 10), root],
                       {**one, "tid": 12}, 50), found)
        self.assertIn(([root], {"pid": 7, "tid": 11}, 1), found)

    def test_a_method_is_one_function_and_each_line_of_it_a_location(self):
        self.assertEqual(["Order#total", "[not sampled]", "esc\\x1b[1m", "main"],
                         sorted(self.text(item, "name") for item in self.profile["function"]))
        self.assertEqual(5, len(self.locations))
        self.assertEqual(len(set(self.texts)), len(self.texts))
        self.assertEqual("", self.texts[0])

    def test_it_says_when_and_how_often_it_was_sampled(self):
        self.assertEqual(([START], [10 ** 9], [10101010]),
                         tuple(self.profile[field] for field in ("time_nanos", "duration_nanos", "period")))
        self.assertEqual("cpu", self.text(self.profile, "default_sample_type"))
        kind, = self.profile["period_type"]
        self.assertEqual(("cpu", "nanoseconds"), (self.text(kind, "type"), self.text(kind, "unit")))
        self.assertIn("exact CPU", self.text(self.profile, "comment"))

    def test_all_names_are_known_so_nobody_looks_for_symbols(self):
        mapping, = self.profile["mapping"]
        self.assertEqual([["true"]] * 3, [mapping[field] for field in ("has_functions", "has_filenames", "has_line_numbers")])
        self.assertEqual({mapping["id"][0]}, {location["mapping_id"][0] for location in self.locations.values()})

    def test_of_several_periods_it_says_their_mean_and_counts_are_no_more_than_fit(self):
        records = Records().add("cpu", tid=1, request_id="r", cpu_ns=100)
        for count, period in ((3, 10), (1, 50)):
            records.add("sample", tid=1, request_id="r", stack_id="1", samples=count, period_ns=period)
        self.assertEqual([20], self.read("-", input=records.data)["period"])
        for _ in range(3):
            records.add("sample", tid=1, request_id="r", stack_id="1", samples=2 ** 62, period_ns=1)
        profile = self.read("-", input=records.data)
        self.assertEqual([2 ** 63 - 1, 100], profile["sample"][0]["value"])

    def test_a_stack_that_is_too_deep_is_cut_at_the_root(self):
        self.profile = self.read("-", input=too_deep())
        self.read_tables()
        sample, = self.profile["sample"]
        names = [frame[0] for frame in self.frames(sample)]
        self.assertEqual(([*(f"m{number}" for number in range(4095, 2048, -1)), "[cut]"], 5),
                         (names, sample["value"][1]))
        self.assertEqual({("", 0, 0)}, {frame[1:] for frame in self.frames(sample)})

    def test_with_where_nothing_else_is_in_it(self):
        profile = self.read("--where", "request_id=r-2", "-", input=stacks())
        self.assertEqual(13, sum(sample["value"][1] for sample in profile["sample"]))
        self.assertNotIn("r-1", profile["string_table"])

    def test_one_that_was_recorded_without_samples_is_not_sampled(self):
        self.profile = self.read(RECORDING, said=b"correlator: warning: the recording has no samples: "
                                 b"record with --stacks\n")
        self.assertEqual(self.total("--by", "request_id", RECORDING)["cpu_ns"],
                         sum(sample["value"][1] for sample in self.profile["sample"]))


class LentTest(Test):
    """Values of keys that a request has in another record."""

    def record(self, keys, more_keys=()):
        """Two requests, the second with four times the CPU; a sample of each has only these keys."""
        records = Records().add("meta", keys=["request_id", *more_keys, "endpoint", "tenant"])
        for request, cpu_ns in (("r-1", 100), ("r-2", 400)):
            own = {"tid": 11, "request_id": request, "window_ns": 10 ** 9}
            values = {"endpoint": "GET /a", "tenant": "t"}
            records.add("stack", stack_id=request, name=request, frame_kind="ruby")
            records.add("cpu", **own, **values, cpu_ns=cpu_ns)
            records.add("sample", **own, **{key: values[key] for key in keys}, stack_id=request, samples=10, period_ns=10)
        return records.data

    def test_the_order_of_keys_makes_no_other_context(self):
        for keys in (["endpoint", "tenant"], ["tenant"], ["endpoint"], []):
            self.assertEqual(b"r-1 100\nr-2 400\n", self.export("folded", "-", input=self.record(keys)), keys)

    def test_of_many_keys_the_one_that_is_asked_for_is_lent(self):
        data = self.record(["tenant"], [f"key{number}" for number in range(40)])
        for where in ("endpoint=GET /a", "tenant=t"):
            self.assertEqual(b"r-1 100\nr-2 400\n", self.export("folded", "--where", where, "-", input=data), where)

    def test_what_waits_for_a_key_until_the_end_is_chosen(self):
        data = Records().add("cpu", tid=1, request_id="a", tenant="t", cpu_ns=1).add("cpu", tid=1, request_id="b", endpoint="e", cpu_ns=2).data
        for format_name in ("ndjson", "csv", "openmetrics", "perfetto", "folded"):
            result = run("export", "--format", format_name, "--where", "tenant=t", "-", input=data)
            self.assertNotIn(b"no record matches", result.stderr, format_name)


class OffCpuTest(Test):
    """Time off the CPU, where it was spent: to the nanosecond, in each form of stacks."""

    STACKS = {("main", "nap", "__schedule"): 730, ("main",): 100, ("main", "nap"): 9, ("[in no stack]",): 40}

    def test_folded(self):
        lines = self.export("folded", "--off-cpu", "-", input=waits()).decode().splitlines()
        self.assertEqual({";".join(stack).replace("__schedule", "__schedule_[k]"): ns for stack, ns in self.STACKS.items()},
                         {stack: int(ns) for stack, ns in (line.rsplit(" ", 1) for line in lines)})

    def test_pprof(self):
        profile = PprofTest("read_tables")
        profile.profile = profile.read("--off-cpu", "-", input=waits())
        profile.read_tables()
        self.assertEqual([("waits", "count"), ("off_cpu", "nanoseconds")],
                         [(profile.text(item, "type"), profile.text(item, "unit")) for item in profile.profile["sample_type"]])
        self.assertEqual(self.STACKS, {tuple(frame[0] for frame in reversed(profile.frames(sample))): sample["value"][1]
                                       for sample in profile.profile["sample"]})
        self.assertEqual(3, sum(sample["value"][0] for sample in profile.profile["sample"]))

    def test_otlp(self):
        profile = OtlpTest("setUp")
        spent, count = profile.read("--off-cpu", "-", input=waits())
        self.assertEqual([("off_cpu", "nanoseconds"), ("waits", "count")],
                         [profile.kind(item["sample_type"]) for item in (spent, count)])
        self.assertEqual(self.STACKS, {tuple(frame[0] for frame in reversed(profile.frames(sample))): sum(sample["values"])
                                       for sample in spent["samples"]})

    def test_speedscope(self):
        file = json.loads(self.export("speedscope", "--off-cpu", "-", input=waits()))
        names = [frame["name"] for frame in file["shared"]["frames"]]
        everything = file["profiles"][0]
        self.assertEqual(self.STACKS,
                         {tuple(names[number] for number in sample): ns for sample, ns in zip(everything["samples"], everything["weights"])})

    def test_without_waits_it_says_how_to_record_them(self):
        warning = (b"correlator: warning: the recording has no waits by stack: "
                   b"record with --stacks=off-cpu\n")
        self.assertEqual(b"", self.export("folded", "--off-cpu", "-", input=stacks(), said=warning))

    def test_it_is_for_stacks_alone(self):
        result = run("export", "--format", "csv", "--off-cpu", RECORDING)
        self.assertEqual(USAGE, result.returncode)
        self.assertIn(b"--off-cpu applies to stacks: folded, pprof, speedscope and otlp", result.stderr)


class OtlpTest(Test):
    """By the schema that is written: there is no reader of these profiles that can be had here."""

    def read(self, *arguments, **options):
        message = perfetto_trace.decode(self, "otlp.proto", "otlp.ProfilesData",
                                        self.export("otlp", *arguments, **options))
        (self.resource,), (self.tables,) = message["resource_profiles"], message["dictionary"]
        scope, = self.resource["scope_profiles"]
        self.scope, = scope["scope"]
        return scope["profiles"]

    def setUp(self):
        self.cpu, self.samples = self.read("-", input=stacks())

    def text(self, message, field):
        return self.tables["string_table"][(message[field] or [0])[0]]

    def kind(self, value_type):
        return self.text(value_type[0], "type_strindex"), self.text(value_type[0], "unit_strindex")

    def frames(self, sample):
        """Innermost first: name, file, line, first line."""
        found = []
        for number in self.tables["stack_table"][sample["stack_index"][0]]["location_indices"]:
            line, = self.tables["location_table"][number]["lines"]
            function = self.tables["function_table"][line["function_index"][0]]
            self.assertEqual(function["name_strindex"], function["system_name_strindex"])
            found.append((self.text(function, "name_strindex"), self.text(function, "filename_strindex"),
                          sum(line["line"]), sum(function["start_line"])))
        return found

    def attributes(self, sample):
        found = {}
        for number in sample["attribute_indices"]:
            attribute = self.tables["attribute_table"][number]
            value, = attribute["value"]
            found[self.text(attribute, "key_strindex")], = value["string_value"] + value["int_value"]
        return found

    def test_a_profile_of_all_cpu_to_the_nanosecond_and_one_of_the_samples(self):
        self.assertEqual([("cpu", "nanoseconds"), ("samples", "count")],
                         [self.kind(profile["sample_type"]) for profile in (self.cpu, self.samples)])
        self.assertEqual([STACKS_CPU, 104], [sum(sample["values"][0] for sample in profile["samples"])
                                             for profile in (self.cpu, self.samples)])
        # Without a sample it is known whose the CPU is, and not where.
        not_sampled, = [sample for sample in self.cpu["samples"]
                        if self.frames(sample) == [("[not sampled]", "", 0, 0)]]
        self.assertEqual(({"request_id": "r-4", "endpoint": "GET /c"}, [6]),
                         (self.attributes(not_sampled), not_sampled["values"]))

    def test_no_request_has_more_than_it_used_and_the_rest_of_its_endpoint_has_no_request(self):
        shared = {"endpoint": "GET /b", "process.pid": 7, "thread.id": 11}
        own = {**shared, "request_id": "r-2"}
        self.assertEqual([(own, [4]), (shared, [2]), (own, [9]), (shared, [3])],
                         [(self.attributes(sample), sample["values"]) for sample in self.cpu["samples"]
                          if self.attributes(sample).get("endpoint") == "GET /b"])

    def test_each_sample_has_its_stack_and_all_keys(self):
        found = [(self.frames(sample), self.attributes(sample), *sample["values"]) for sample in self.samples["samples"]]
        root, file = ("main", "/app/main.rb", 1, 1), "/app/order.rb"
        one = {"request_id": "r-1", "endpoint": "GET /a", "process.pid": 7}
        self.assertIn(([("Order#total", file, 12, 10), root], {**one, "thread.id": 11}, 30), found)
        self.assertIn(([("esc\\x1b[1m", file, 0, 0), ("Order#total", file, 14, 10), root],
                       {**one, "thread.id": 12}, 50), found)
        self.assertIn(([root], {"process.pid": 7, "thread.id": 11}, 1), found)

    def test_what_is_the_same_is_there_once_and_the_first_of_each_table_is_none(self):
        for name in "mapping", "location", "function", "link", "attribute", "stack":
            self.assertEqual({}, self.tables[f"{name}_table"][0], name)
        self.assertEqual("", self.tables["string_table"][0])
        sizes = {name: len(items) for name, items in self.tables.items()}
        # Beside none: not sampled, and three methods, one of them at two lines, in four stacks; three
        # requests, three endpoints, two threads of a process. No trace.
        self.assertEqual((1, 1 + 5, 1 + 4, 1, 1 + 9, 1 + 5),
                         tuple(sizes[f"{name}_table"] for name in ("mapping", "location", "function", "link",
                                                                   "attribute", "stack")))
        self.assertEqual(len(set(self.tables["string_table"])), sizes["string_table"])

    def test_it_says_when_how_often_and_by_what_it_was_sampled(self):
        for profile in self.cpu, self.samples:
            self.assertEqual(([START], [10 ** 9], [10101010]),
                             tuple(profile[field] for field in ("time_unix_nano", "duration_nano", "period")))
            self.assertEqual(("cpu", "nanoseconds"), self.kind(profile["period_type"]))
        self.assertEqual(["correlator"], self.scope["name"])

    def test_whose_it_is_if_all_is_of_one_host(self):
        def host(*names):
            records = Records()
            for number, name in enumerate(names):
                records.add("cpu", host_name=name, tid=1, request_id=f"r-{number}", cpu_ns=5)
                records.add("sample", host_name=name, tid=1, request_id=f"r-{number}", stack_id="1", samples=1, period_ns=1)
            self.read("-", input=records.data)
            attributes = self.resource["resource"][0]["attributes"]
            return {item["key"][0]: item["value"][0]["string_value"][0] for item in attributes}
        self.assertEqual({"host.name": "web-1"}, host("web-1", "web-1"))
        self.assertEqual({}, host("web-1", "web-2"))

    def link(self, trace, span):
        own = {"tid": 1, "otel.trace_id": trace, "otel.span_id": span}
        cpu, _ = self.read("-", input=Records().add("stack", stack_id="1", name="m", frame_kind="ruby")
                           .add("cpu", **own, cpu_ns=5)
                           .add("sample", **own, stack_id="1", samples=1, period_ns=1).data)
        number = sum(cpu["samples"][0]["link_index"])
        link = self.tables["link_table"][number]
        return number and (*link["trace_id"], *link["span_id"])

    def test_a_span_is_a_link(self):
        self.assertEqual(("\x0aB" * 8, "\x7f\0" * 4), self.link("0a42" * 8, "7F00" * 4))

    def test_half_a_span_or_what_is_none_is_no_link(self):
        good_trace, good_span = "0a" * 16, "7f" * 8
        for trace, span in ((good_trace, ""), ("", good_span), ("0" * 32, good_span), (good_trace, "0" * 16),
                            ("0g" * 16, good_span), (good_trace[1:], good_span), (good_trace, good_span + "0")):
            self.assertEqual(0, self.link(trace, span), (trace, span))

    def test_a_stack_that_is_too_deep_is_cut_at_the_root(self):
        cpu, _ = self.read("-", input=too_deep())
        sample, = cpu["samples"]
        self.assertEqual(([*(f"m{number}" for number in range(4095, 2048, -1)), "[cut]"], [5]),
                         ([frame[0] for frame in self.frames(sample)], sample["values"]))

    def test_counts_are_no_more_than_fit(self):
        records = Records().add("cpu", tid=1, request_id="r", cpu_ns=100)
        for _ in range(3):
            records.add("sample", tid=1, request_id="r", stack_id="1", samples=2 ** 62, period_ns=1)
        cpu, samples = self.read("-", input=records.data)
        self.assertEqual(([100], [2 ** 63 - 1]), (cpu["samples"][0]["values"], samples["samples"][0]["values"]))

    def test_one_that_was_recorded_without_samples_is_not_sampled(self):
        cpu, samples = self.read(RECORDING, said=b"correlator: warning: the recording has no samples: "
                                 b"record with --stacks\n")
        self.assertEqual(self.total("--by", "request_id", RECORDING)["cpu_ns"],
                         sum(sample["values"][0] for sample in cpu["samples"]))
        self.assertEqual([], samples["samples"])

    def test_it_holds_what_pprof_holds(self):
        profile = perfetto_trace.decode(self, "profile.proto", "perftools.profiles.Profile",
                                        gzip.decompress(self.export("pprof", "-", input=stacks())))
        for number, own in (1, self.cpu), (0, self.samples):
            self.assertEqual(sorted(sample["value"][number] for sample in profile["sample"] if sample["value"][number]),
                             sorted(sample["values"][0] for sample in own["samples"]))


class SpeedscopeTest(Test):
    def setUp(self):
        self.file = json.loads(self.export("speedscope", "-", input=stacks()))
        self.frames = self.file["shared"]["frames"]

    def stacks(self, profile):
        """Names from the outermost on, and the weights of all such stacks."""
        found = {}
        for sample, weight in zip(profile["samples"], profile["weights"], strict=True):
            names = tuple(self.frames[frame]["name"] for frame in sample)
            found[names] = found.get(names, 0) + weight
        return found

    def test_all_cpu_is_there_to_the_nanosecond(self):
        profile = self.file["profiles"][self.file["activeProfileIndex"]]
        self.assertEqual(("all", "nanoseconds", 0, STACKS_CPU),
                         tuple(profile[name] for name in ("name", "unit", "startValue", "endValue")))
        self.assertEqual(STACKS_CPU, sum(profile["weights"]))
        found = self.stacks(profile)
        self.assertEqual((70, 6), (found["main",], found["[not sampled]",]))
        self.assertEqual({("main",), ("main", "Order#total"), ("main", "Order#total", "esc\\x1b[1m"), ("[not sampled]",)},
                         set(found))

    def test_each_endpoint_is_a_profile_the_one_with_the_most_cpu_first(self):
        self.assertEqual([("all", STACKS_CPU), ("GET /a", 1_000_000_007), ("GET /b", 18), ("GET /c", 6)],
                         [(item["name"], sum(item["weights"])) for item in self.file["profiles"]])
        self.assertEqual({("main", "Order#total"): 18}, self.stacks(self.file["profiles"][2]))
        self.assertEqual({("[not sampled]",): 6}, self.stacks(self.file["profiles"][3]))

    def test_each_endpoint_is_there_where_nothing_is_without_one(self):
        records = Records().add("stack", stack_id="1", name="main", frame_kind="ruby")
        for number in range(3):
            own = {"tid": 1, "request_id": f"r-{number}", "endpoint": f"GET /{number}"}
            records.add("cpu", **own, cpu_ns=10 - number)
            records.add("sample", **own, stack_id="1", samples=1, period_ns=1)
        file = json.loads(self.export("speedscope", "-", input=records.data))
        self.assertEqual([("all", 27), ("GET /0", 10), ("GET /1", 9), ("GET /2", 8)],
                         [(item["name"], sum(item["weights"])) for item in file["profiles"]])

    def test_a_method_is_one_frame_with_the_line_where_it_begins(self):
        self.assertEqual([{"name": "[not sampled]"}, {"name": "main", "file": "/app/main.rb", "line": 1},
                          {"name": "Order#total", "file": "/app/order.rb", "line": 10},
                          {"name": "esc\\x1b[1m", "file": "/app/order.rb"}], self.frames)

    def test_a_stack_that_is_too_deep_is_cut_at_the_root(self):
        self.file = json.loads(self.export("speedscope", "-", input=too_deep()))
        self.frames = self.file["shared"]["frames"]
        self.assertEqual({("[cut]", *(f"m{number}" for number in range(2049, 4096))): 5},
                         self.stacks(self.file["profiles"][0]))

    def test_of_many_endpoints_there_are_those_with_the_most_cpu(self):
        records = Records()
        for number in range(1, 101):
            records.add("cpu", tid=1, request_id=str(number), endpoint=f"GET /{number}", cpu_ns=number)
        records.add("cpu", tid=1, request_id="twin", endpoint="GET /0", cpu_ns=100)
        warning = b"correlator: warning: the recording has no samples: record with --stacks\n"
        file = json.loads(self.export("speedscope", "-", input=records.data, said=warning))
        self.assertEqual([5150, 100, *range(100, 37, -1)], [item["endValue"] for item in file["profiles"]])
        self.assertEqual(["all", "GET /0", "GET /100"], [item["name"] for item in file["profiles"][:3]])

    def test_where_it_is_not_known_where_a_method_begins_its_lines_are_told_apart(self):
        records = Records().add("cpu", tid=1, request_id="r", cpu_ns=100)
        for number in 1, 2:
            records.add("stack", stack_id=str(number), name="native", frame_kind="native", line=10 * number)
            records.add("sample", tid=1, request_id="r", stack_id=str(number), samples=1, period_ns=1)
        file = json.loads(self.export("speedscope", "-", input=records.data))
        self.assertEqual([{"name": "native", "line": 10}, {"name": "native", "line": 20}], file["shared"]["frames"][1:])
        self.assertEqual([[[1], [2]], [50, 50]], [file["profiles"][0][name] for name in ("samples", "weights")])


class ProgramTest(Test):
    def test_wrong_arguments_are_refused(self):
        for arguments, said in (
                ([], b"--format says what to write"),
                (["-f", "x"], b"unknown format 'x': one of perfetto, openmetrics, ndjson, csv, folded, pprof, speedscope, otlp"),
                (["-f", "csv", "--by", "pid"], b"--by applies to openmetrics only"),
                (["-f", "csv", "--where", "x"], b"--where takes KEY=VALUE"),
                (["-f", "csv", "--since", "x"], b"--since takes a time"),
                (["-f", "csv", *["--where=a=b"] * 17], b"at most 16 conditions")):
            result = run("export", *arguments, RECORDING)
            self.assertEqual((USAGE, b""), (result.returncode, result.stdout), arguments)
            self.assertIn(said, result.stderr)
            self.assertNotIn(b"not permitted", result.stderr)

    def test_a_writer_is_not_waited_for_when_nobody_reads(self):
        with subprocess.Popen([CORRELATOR, "export", "-f", "csv", "-"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, bufsize=0) as process:
            process.stdout.close()
            number = 0
            with self.assertRaises(BrokenPipeError):
                for number in range(10000):
                    records = Records()
                    records.number = number
                    process.stdin.write(records.add("cpu", tid=1, request_id="x" * 99, cpu_ns=1).data)
        self.assertEqual(OK, process.returncode)

    def test_a_balance_record_without_its_times_is_damage(self):
        data = RECORDING.read_bytes().replace(b"unattributed_ns", b"unattributed-ns", 1)
        for name in "openmetrics", "ndjson":
            result = run("export", "-f", name, "-", input=data)
            self.assertEqual(FAILURE if name == "openmetrics" else OK, result.returncode, name)
            self.assertEqual(name == "openmetrics",
                             b"damaged: a balance record without its times" in result.stderr)

    def export_to_a_terminal(self, form):
        leader, terminal = os.openpty()
        self.addCleanup(os.close, leader)
        self.addCleanup(os.close, terminal)
        return subprocess.run([CORRELATOR, "export", "-f", form, RECORDING], stdout=terminal,
                              stderr=subprocess.PIPE, timeout=60, check=False)

    def test_text_may_go_to_a_terminal(self):
        result = self.export_to_a_terminal("csv")
        self.assertEqual((OK, b""), (result.returncode, result.stderr))

    def test_a_trace_is_not_written_to_a_terminal(self):
        result = self.export_to_a_terminal("perfetto")
        self.assertEqual(USAGE, result.returncode)
        self.assertIn(b"not writing a binary trace", result.stderr)
        for form, ending in ("pprof", b"pb.gz"), ("otlp", b"otlp"):
            result = self.export_to_a_terminal(form)
            self.assertEqual(USAGE, result.returncode)
            self.assertIn(b"not writing a binary profile to a terminal: redirect it to a file, with > FILE." + ending, result.stderr)

    def test_a_damaged_file_is_written_as_far_as_it_goes(self):
        data = RECORDING.read_bytes()
        for name in "ndjson", "csv", "perfetto", "openmetrics":
            result = run("export", "-f", name, "-", input=data[:900] + b"\xc1" * 9 + data[900:])
            self.assertEqual(FAILURE, result.returncode, name)
            self.assertIn(b"damaged", result.stderr)
            self.assertGreater(len(result.stdout), 500)

    def test_what_comes_behind_a_file_that_is_none_is_written_too(self):
        result = run("export", "-f", "ndjson", "-", RECORDING, input=b"none")
        self.assertEqual((FAILURE, run("dump", RECORDING).stdout), (result.returncode, result.stdout))
        self.assertEqual(FAILURE, run("export", "-f", "csv", "/nowhere", RECORDING).returncode)

    def test_a_file_that_is_not_there_and_a_full_disk_are_failures(self):
        result = run("export", "-f", "csv", "/nowhere")
        self.assertEqual(FAILURE, result.returncode)
        self.assertIn(b"/nowhere", result.stderr)
        with open("/dev/full", "w") as full:
            for name in FORMATS:
                result = subprocess.run([CORRELATOR, "export", "-f", name, RECORDING], stdout=full,
                                        stderr=subprocess.PIPE, timeout=60, check=False)
                self.assertEqual(FAILURE, result.returncode, name)
                self.assertIn(b"cannot write the export: No space left on device", result.stderr)

    def test_a_key_that_no_record_has_chooses_nothing_by_a_slip(self):
        for name in FORMATS:
            result = run("export", "-f", name, "--where", "tennant=x", RECORDING)
            self.assertEqual(FAILURE, result.returncode, name)
            self.assertIn(b"no record has the key tennant; keys that occur: request_id, endpoint",
                          result.stderr, name)
        # What is chosen is chosen before there is a format: each of these with some of them.
        nothing = [["--where", "endpoint=x"], ["--where", "comm=x"], ["--since", "1h"]]
        for name, options in zip(FORMATS, itertools.cycle(nothing)):
            result = run("export", "-f", name, *options, RECORDING)
            self.assertEqual(OK, result.returncode, name)
            self.assertIn(b"no record matches --where, --since and --until",
                          result.stderr, name)

    def test_an_empty_file_is_said_to_be_empty(self):
        for name in FORMATS:
            result = run("export", "-f", name, "-", input=b"")
            self.assertEqual(OK, result.returncode, name)
            self.assertIn(b"empty, no records in it", result.stderr)

    def test_a_reader_who_has_seen_enough_is_no_failure(self):
        with tempfile.NamedTemporaryFile() as file:
            records = Records()
            for number in range(2000):
                records.add("cpu", tid=1, request_id=f"r{number}", cpu_ns=1)
            file.write(records.data)
            file.flush()
            for name in FORMATS:
                with subprocess.Popen([CORRELATOR, "export", "-f", name, "--by", "request_id", file.name]
                                      if name == "openmetrics" else
                                      [CORRELATOR, "export", "-f", name, file.name],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE) as exporter:
                    exporter.stdout.read(10)
                    exporter.stdout.close()
                    self.assertEqual(OK, exporter.wait(60), exporter.stderr.read())


if __name__ == "__main__":
    unittest.main()
