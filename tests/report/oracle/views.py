# SPDX-License-Identifier: GPL-2.0-only
"""The views of the tool: how each is asked for, and whether it has what the reference says."""
import dataclasses
import os
import shlex
import subprocess

import alert_lines
import diffs
import openmetrics
import page
import page_compare
import page_selection
import pairs
import peers
import questions
import records
import rows
import rule
import series
import slowest
import stacks
import stacks_diffs
import stalls
import story
import syscalls
import tables
import text_tables
from figures import differences

PATIENCE_SECONDS = 20
MANY_COLUMNS = "1000"
# Errors of reading an output that is malformed.
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, OSError, EOFError)
COMMANDS = {"export csv": ("export", "--format", "csv"), "export ndjson": ("export", "--format", "ndjson"),
            "openmetrics": ("export", "--format", "openmetrics"),
            "stacks json": ("report", "--stacks", "--format", "json"),
            "stacks csv": ("report", "--stacks", "--format", "csv"),
            "off-cpu json": ("report", "--stacks", "--off-cpu", "--format", "json"),
            "syscalls json": ("report", "--syscalls", "--format", "json"),
            "syscalls csv": ("report", "--syscalls", "--format", "csv"),
            **{f"{what} {form}": ("report", f"--{what}", "--format", form)
               for what in ("io", "stalls") for form in ("json", "csv", "ndjson")},
            "html": ("report", "--html", "-"), "page selection": ("report", "--html", "-"),
            "compare": ("report", "--html", "-"), "request": ("report", "--format", "json"),
            "over time json": ("report", "--over-time", "--format", "json"),
            "over time csv": ("report", "--over-time", "--format", "csv"),
            "over time ndjson": ("report", "--over-time", "--format", "ndjson"),
            "over time table": ("report", "--over-time", "--top", "0"),
            "syscalls table": ("report", "--syscalls", "--top", "0"),
            "stacks table": ("report", "--stacks", "--top", "0"),
            "off-cpu table": ("report", "--stacks", "--off-cpu", "--top", "0"),
            "syscalls ndjson": ("report", "--syscalls", "--format", "ndjson"),
            "slowest": ("report", "--format", "json"), "alert": ("report",),
            "stacks slowest": ("report", "--stacks", "--format", "json"),
            **{view: ("report", "--diff", "--top", "0", "--format", view.split()[1]) for view in questions.DIFFS},
            **{f"stacks diff {form}": ("report", "--stacks", "--diff", "--format", form) for form in ("json", "csv")},
            "off-cpu diff json": ("report", "--stacks", "--off-cpu", "--diff", "--format", "json"),
            "off-cpu folded": ("export", "--off-cpu", "--format", "folded"),
            "off-cpu pprof": ("export", "--off-cpu", "--format", "pprof"),
            "off-cpu speedscope": ("export", "--off-cpu", "--format", "speedscope"),
            "top": ("top", "--batch", "--span", "all", "--speed", "max")}
# By the name of a view: the functions that give the expected figures and those of an output.
VIEWS = {
    "json": (rows.expect_json, rows.parse_json),
    "csv": (rows.expect_rows, rows.parse_csv),
    "ndjson": (rows.expect_rows, rows.parse_ndjson),
    "table": (tables.expect_table, tables.parse_table),
    "html": (page.expect_page, page.parse_page),
    "page selection": (page_selection.expect_selection, page_selection.parse_selection),
    "compare": (page_compare.expect_compared, page_compare.parse_compared),
    "top": (tables.expect_top, tables.parse_top),
    "over time json": (series.expect_steps, series.parse_steps_json),
    "over time csv": (series.expect_steps, series.parse_steps_csv),
    "openmetrics": (openmetrics.expect_openmetrics, openmetrics.parse_openmetrics),
    "export ndjson": (records.expect_records, records.parse_records),
    "export csv": (records.expect_record_rows, records.parse_record_rows),
    "folded": (stacks.expect_folded, stacks.parse_folded),
    "speedscope": (stacks.expect_named, stacks.parse_speedscope),
    "pprof": (stacks.expect_named, stacks.parse_pprof),
    "otlp": (stacks.expect_by_endpoint, stacks.parse_otlp),
    "stacks json": (stacks.expect_stacks, stacks.parse_stacks_json),
    "stacks csv": (stacks.expect_stacks, stacks.parse_stacks_csv),
    "off-cpu json": (stacks.expect_stacks, stacks.parse_stacks_json),
    "syscalls json": (syscalls.expect_syscalls, syscalls.parse_syscalls_json),
    "syscalls csv": (syscalls.expect_syscalls, syscalls.parse_syscalls_csv),
    "io json": (peers.expect_io, peers.parse_io_json),
    "io csv": (peers.expect_io, peers.parse_io_csv),
    "io ndjson": (peers.expect_io, peers.parse_io_ndjson),
    "stalls json": (stalls.expect_stalls, stalls.parse_stalls_json),
    "stalls csv": (stalls.expect_stalls, stalls.parse_stalls_csv),
    "stalls ndjson": (stalls.expect_stalls, stalls.parse_stalls_ndjson),
    "over time ndjson": (series.expect_steps, series.parse_steps_ndjson),
    "syscalls ndjson": (syscalls.expect_syscalls, syscalls.parse_syscalls_ndjson),
    "over time table": (text_tables.expect_over_time, text_tables.parse_over_time),
    "syscalls table": (text_tables.expect_syscalls, text_tables.parse_syscalls),
    "stacks table": (text_tables.expect_methods, text_tables.parse_methods),
    "off-cpu table": (text_tables.expect_methods, text_tables.parse_methods),
    "slowest": (slowest.expect_slowest, rows.parse_json),
    "stacks slowest": (slowest.expect_stacks, stacks.parse_stacks_json),
    "perfetto": (stacks.expect_perfetto, stacks.parse_perfetto),
    "off-cpu folded": (stacks.expect_folded, stacks.parse_folded),
    "off-cpu pprof": (stacks.expect_named, stacks.parse_pprof),
    "off-cpu speedscope": (stacks.expect_named, stacks.parse_speedscope),
    "request": (story.expect_request, story.parse_request),
    "diff json": (diffs.expect_json, diffs.parse_json),
    "diff csv": (diffs.expect_rows, diffs.parse_csv),
    "diff ndjson": (diffs.expect_rows, diffs.parse_ndjson),
    "diff table": (diffs.expect_table, diffs.parse_table),
    "stacks diff json": (stacks_diffs.expect_json, stacks_diffs.parse_json),
    "stacks diff csv": (stacks_diffs.expect_rows, stacks_diffs.parse_csv),
    "off-cpu diff json": (stacks_diffs.expect_json, stacks_diffs.parse_json),
    "alert": (alert_lines.expect_alerts, alert_lines.parse_alerts),
}


def command_of(question, paths):
    """The tool's words behind its name."""
    view, by = question.view, ",".join(question.by)
    words = COMMANDS.get(view) or (("export", "--format", view) if view in questions.EXPORTS
                                   else ("report", "--top", str(question.top), "--format", view))
    words = [*words, *question.arguments()]
    if by and view != "slowest":
        words += ["--by", by]
    if question.request is not None:
        words += ["--request", question.request]
    for alert in question.alerts:
        words += ["--alert", alert.text()]
    if question.step_ns:
        words += ["--step", f"{question.step_ns}ns"]
    if view == "table":
        words += ["--columns", ",".join(tables.columns_of(question.by))]
    if view == "compare":
        words += ["--compare", str(paths[-1])]
        paths = paths[:-1]
    return words + [str(path) for path in paths]


def line_of(question, paths):
    """What one types to see it again."""
    behind = f" | {shlex.join(page_selection.script_command(question))}" if question.view in questions.BY_SCRIPT else ""
    return shlex.join(["correlator", *command_of(question, paths)]) + behind


def ask(tool, question, paths):
    """The exit code and what is written; a code below 0 is a signal's, None: it hangs."""
    environment = dict(os.environ, COLUMNS=MANY_COLUMNS, TZ="UTC", LC_ALL="C.UTF-8")
    try:
        result = subprocess.run([tool, *command_of(question, paths)], capture_output=True, env=environment,
                                stdin=subprocess.DEVNULL, timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        return None, b"", ""
    return result.returncode, result.stdout, result.stderr.decode("utf-8", "replace")


def known_children(figures):
    """That children used nothing is said where it is known, which recordings here may or may not tell."""
    return {path: value for path, value in figures.items()
            if value != 0 or not str(path[2]).endswith("children_cpu_ns")}


def compare(tool, question, files, paths):
    """The differences of a view from what the reference says."""
    code, output, error = ask(tool, question, paths)
    is_as_written = question.view in ("export csv", "export ndjson")
    recording = rule.Recording(files, question.since, question.until, is_as_written)
    chosen = recording.select(question.where)
    if question.view in questions.BY_DEFAULT and not question.by:
        question = dataclasses.replace(question, by=rule.default_by(recording, chosen))
    is_to_fail = must_fail(recording, chosen, files, question)
    if is_to_fail or code not in ((0, alert_lines.EXIT_FIRED) if question.alerts else (0,)):
        wanted = {("exit", (), ""): 1 if is_to_fail else 0}
        wrong = differences(wanted, {("exit", (), ""): code})
        return wrong and [(*wrong[0][:2], f"{code}: {error.strip()[-300:]}")]
    expect, parse = VIEWS[question.view]
    try:
        found = parse(output, question)
    except UNREADABLE as problem:
        return [(("unreadable", (), ""), None, f"{problem!r}: {output[-300:]!r}")]
    expected = expect(recording, chosen, question)
    if question.view == "alert":
        found[alert_lines.EXIT] = code
        alert_lines.forget_what_is_open(expected, found)
    return differences(expected, known_children(found))


def must_fail(recording, chosen, files, question):
    if question.alerts:
        return is_refused_alert(files, question)
    return is_refused(recording, chosen, question) or (
        question.other is not None and is_refused(*pairs.read_other(question), question))


def is_refused(recording, chosen, question):
    """Whether the tool has to say that there is no such key, or no such request."""
    def is_unknown(key):
        return key not in rule.WHAT_RAN and key not in recording.keys

    is_nothing = not chosen.cpu
    if question.view == "export ndjson":
        is_nothing = bool(question.where) and not chosen.records
    if question.view == "request":
        return question.request not in chosen.requests or len(question.request) == 0
    is_by_unknown = any(is_unknown(key) for key in question.by) and question.view != "top"
    if question.view == "openmetrics" and is_by_unknown:
        return True
    if is_nothing and question.view != "top":
        return any(is_unknown(rule.split_condition(condition)[0]) for condition in question.where)
    return is_by_unknown


def is_refused_alert(files, question):
    """A key is known that a record has at any time, and requests are known by theirs."""
    keys = rule.Recording(files).keys
    return any(alert.key and alert.key not in keys or alert.is_of_requests() and "request_id" not in keys
               for alert in question.alerts)
