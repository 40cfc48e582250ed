# SPDX-License-Identifier: GPL-2.0-only
"""What is exported as Google's own protoc decodes it, by the schemas of correlator/reader/export."""
import collections
import pathlib
import subprocess

SCHEMA = pathlib.Path(__file__).resolve().parents[3] / "correlator" / "reader" / "export"


def parse_value(value):
    if value[0] == '"':
        return value[1:-1].encode().decode("unicode_escape").encode("latin-1").decode()
    return int(value) if value.lstrip("-").isdigit() else value


def parse_text(lines):
    """A message as protoc prints it: names, and a list of values of each."""
    message = collections.defaultdict(list)
    for line in lines:
        line = line.strip()
        if line == "}":
            break
        if line.endswith("{"):
            message[line[:-2]].append(parse_text(lines))
        else:
            name, value = line.split(": ", 1)
            message[name].append(parse_value(value))
    return message


def decode(test, schema, message, data):
    decoded = subprocess.run(["protoc", f"--proto_path={SCHEMA}", f"--decode={message}", schema],
                             input=data, capture_output=True, timeout=60, check=True)
    # What has no name has no place in the schema.
    test.assertNotRegex(decoded.stdout, rb"(?m)^ *\d+:")
    return parse_text(iter(decoded.stdout.decode().splitlines()))


def packets(test, data):
    return decode(test, "perfetto.proto", "perfetto.protos.Trace", data)["packet"]


def bars(test, packets, category):
    """Track, begin, end, name and annotations of the slices of a category, in the order of their ends."""
    open_bars, found = {}, []
    for packet in packets:
        for event in packet["track_event"]:
            track = event["track_uuid"][0]
            if event["type"] == ["TYPE_SLICE_BEGIN"]:
                test.assertNotIn(track, open_bars)
                open_bars[track] = packet["timestamp"][0], event
            elif event["type"] == ["TYPE_SLICE_END"]:
                start, begun = open_bars.pop(track)
                if begun["categories"] == [category]:
                    figures = {item["name"][0]: (item["int_value"] + item["string_value"])[0]
                               for item in begun["debug_annotations"]}
                    found.append((track, start, packet["timestamp"][0], begun["name"][0], figures))
    test.assertEqual({}, open_bars)
    return found


def tracks(packets):
    """Their descriptions, by number."""
    return {track["uuid"][0]: track for packet in packets for track in packet["track_descriptor"]}
