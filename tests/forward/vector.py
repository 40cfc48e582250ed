#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Stands in for Vector 0.58, which Debian does not have: reads its configuration as that does.

vector.py FILE says `ready PORT`; when its standard input ends it delivers what it acknowledged. As
the real one, it does not start with an option that a component does not know, and ${NAME} is nothing
else to it. Of the language of remap it knows what the configuration has: del(.FIELD), and
format_timestamp!. A delivery that the real one would try for ever is a failure here: exit status 1.
"""
import datetime
import gzip
import json
import pathlib
import re
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "live"))

import acking  # noqa: E402
import records  # noqa: E402

DEADLINE_SECONDS = 30
NS_PER_SECOND = 1_000_000_000
BUFFER_MIN_BYTES = 268_435_488
TOP = {"data_dir", "sources", "transforms", "sinks"}
FLUENT = {"type", "mode", "address", "connection_limit", "keepalive", "permit_origin",
          "receive_buffer_bytes", "tls", "acknowledgements"}
REMAP = {"type", "inputs", "source", "file", "timezone", "drop_on_error", "drop_on_abort",
         "reroute_dropped"}
CLICKHOUSE = {"type", "inputs", "endpoint", "table", "database", "format", "skip_unknown_fields",
              "date_time_best_effort", "insert_random_shard", "compression", "encoding", "batch",
              "auth", "request", "tls", "acknowledgements", "query_settings", "extra_query_params",
              "buffer", "healthcheck", "proxy"}
OPTIONS = {"batch": {"max_bytes", "max_events", "timeout_secs"}, "acknowledgements": {"enabled"},
           "buffer": {"type", "max_size", "max_events", "when_full"}}
FORMATS = {"json_each_row": "JSONEachRow", "json_as_object": "JSONAsObject",
           "json_as_string": "JSONAsString"}
DELETE = re.compile(r"del\(\.(\w+)\)")
FORMAT_TIME = re.compile(r'\.(\w+) = format_timestamp!\(\.(\w+), format: "([^"]*)"\)')


class ConfigurationError(Exception):
    """It does not start."""


def check(name, options, known):
    if unknown := set(options) - known:
        raise ConfigurationError(f"{name}: unknown field {sorted(unknown)}")


def only(configuration, kind, known, wanted):
    """(name, options) of the one component of a kind."""
    ((name, options),) = configuration[kind].items()
    check(name, options, known)
    for option, fields in OPTIONS.items():
        check(f"{name}.{option}", options.get(option, {}), fields)
    if options["type"] != wanted:
        raise ConfigurationError(f"{name}: a {options['type']}")
    return name, options


class Source(acking.Collector):
    """Of the source fluent; chunks: what it acknowledged."""
    daemon_threads = False

    def __init__(self, options):
        self.chunks = []
        host, _, port = options["address"].rpartition(":")
        super().__init__((host, int(port)), None)

    def take(self, tag, entries):
        self.chunks.append((tag, entries))

    def events(self, tag, entries):
        """As remap sees them: a time is an int of nanoseconds."""
        for time, record in records.unpack_entries(entries)[0]:
            yield {"host": self.server_address[0], **record, "tag": tag, "source_type": "fluent",
                   "timestamp": records.wall_ns(time)}


def formatted(wall_ns, pattern):
    # %f: all nine digits, unlike Python's.
    pattern = pattern.replace("%f", f"{wall_ns % NS_PER_SECOND:09}")
    time = datetime.datetime.fromtimestamp(wall_ns // NS_PER_SECOND, datetime.timezone.utc)
    return time.strftime(pattern)


def compiled(source):
    """A function that changes an event as the lines say."""
    steps = []
    for line in filter(None, map(str.strip, source.splitlines())):
        if found := DELETE.fullmatch(line):
            steps.append(lambda event, name=found[1]: event.pop(name, None))
        elif found := FORMAT_TIME.fullmatch(line):
            steps.append(lambda event, found=found: event.update(
                {found[1]: formatted(event[found[2]], found[3])}))
        else:
            raise ConfigurationError(f"remap: {line}")

    def change(event):
        for step in steps:
            step(event)
        return event
    return change


class Sink:
    """The sink clickhouse."""

    def __init__(self, options):
        endpoint = urllib.parse.urlsplit(options["endpoint"])
        if endpoint.scheme not in ("http", "https") or not re.fullmatch(r"[\w.:-]+",
                                                                        endpoint.netloc):
            raise ConfigurationError(f"endpoint: invalid uri {options['endpoint']}")
        buffer = options.get("buffer", {})
        if buffer.get("type") == "disk" and buffer["max_size"] < BUFFER_MIN_BYTES:
            raise ConfigurationError(f"buffer.max_size is under {BUFFER_MIN_BYTES}")
        settings = {"input_format_import_nested_json": 1}
        if "skip_unknown_fields" in options:
            settings["input_format_skip_unknown_fields"] = int(options["skip_unknown_fields"])
        if options.get("date_time_best_effort"):
            settings["date_time_input_format"] = "best_effort"
        form = FORMATS[options.get("format", "json_each_row")]
        self.url = options["endpoint"].rstrip("/") + "/?" + urllib.parse.urlencode({
            **settings,
            "query": f"INSERT INTO {{database:Identifier}}.{{table:Identifier}} FORMAT {form}",
            "param_database": options.get("database", "default"), "param_table": options["table"]})

    def deliver(self, events):
        body = gzip.compress("".join(json.dumps(event) + "\n" for event in events).encode())
        request = urllib.request.Request(self.url, body, {"Content-Encoding": "gzip"})
        try:
            with urllib.request.urlopen(request, timeout=DEADLINE_SECONDS):
                return True
        except urllib.error.HTTPError as error:
            print(f"ERROR {error.code} {error.read().decode()}", file=sys.stderr)
            return False


def main():
    configuration = yaml.safe_load(pathlib.Path(sys.argv[1]).read_text())
    check("configuration", configuration, TOP)
    source_name, source_options = only(configuration, "sources", FLUENT, "fluent")
    remap_name, remap = only(configuration, "transforms", REMAP, "remap")
    _, sink_options = only(configuration, "sinks", CLICKHOUSE, "clickhouse")
    if (remap["inputs"], sink_options["inputs"]) != ([source_name], [remap_name]):
        raise ConfigurationError("inputs that lead nowhere")
    change, sink, source = compiled(remap["source"]), Sink(sink_options), Source(source_options)
    threading.Thread(target=source.serve_forever, daemon=True).start()
    print(f"ready {source.server_address[1]}", flush=True)
    sys.stdin.read()
    source.shutdown()
    source.server_close()
    # All of them, also after one has failed.
    return all([sink.deliver(map(change, source.events(*chunk))) for chunk in source.chunks])


if __name__ == "__main__":
    sys.exit(not main())
