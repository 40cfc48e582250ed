#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Stands in for Fluent Bit 5.1, which Debian does not have: reads its configuration as that does.

fluent_bit.py FILE says `ready PORT`; when its standard input ends it delivers what it acknowledged.
As the real one, it does not start with a property that a plugin does not know, and goes on with a
value that it does not know: that it only says. A delivery that the real one would try for ever is a
failure here: exit status 1.
"""
import base64
import fnmatch
import hashlib
import http.client
import json
import os
import pathlib
import re
import sys
import threading
import time

import msgpack

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "live"))

import acking  # noqa: E402
import records  # noqa: E402

INSTANCE = {"name", "alias", "log_level"}
INPUT = INSTANCE | {"tag", "threaded", "mem_buf_limit", "storage.type"}
OUTPUT = INSTANCE | {"match", "match_regex", "workers", "retry_limit", "storage.total_limit_size"}
TLS = {"tls", "tls.verify", "tls.crt_file", "tls.key_file", "tls.key_passwd", "tls.ca_file"}
SERVICE = {"flush", "grace", "daemon", "log_level", "log_file", "storage.path", "storage.sync",
           "storage.checksum", "storage.max_chunks_up", "storage.backlog.mem_limit",
           "storage.metrics", "scheduler.base", "scheduler.cap", "http_server", "http_listen",
           "http_port"}
FORWARD = INPUT | TLS | {"listen", "port", "tag_prefix", "shared_key", "empty_shared_key",
                         "self_hostname", "security.users", "unix_path", "unix_perm",
                         "buffer_chunk_size", "buffer_max_size"}
HTTP = OUTPUT | TLS | {"host", "port", "proxy", "allow_duplicated_headers", "log_response_payload",
                       "http_user", "http_passwd", "header_tag", "header", "uri", "http_method",
                       "format", "json_date_format", "json_date_key", "compress", "body_key",
                       "headers_key"}
KAFKA = OUTPUT | {"topics", "brokers", "topic_key", "dynamic_topic", "format", "message_key",
                  "message_key_field", "timestamp_key", "timestamp_format", "queue_full_retries",
                  "client_id", "group_id", "raw_log_key"}
# librdkafka has these in its own sources; gzip and zstd need what was there when it was built.
CODECS_ALWAYS_BUILT = {"none", "snappy", "lz4"}
SIZES = {"k": 1000, "m": 1000**2, "g": 1000**3}
DEADLINE_SECONDS = 30
NS_PER_SECOND = 1_000_000_000


class ConfigurationError(Exception):
    """It does not start."""


def complain(text):
    print(f"[error] {text}", file=sys.stderr, flush=True)


def read_configuration(path):
    """[(section, {property: value})] of the classic format; ${NAME} is of the environment."""
    sections = []
    for line in pathlib.Path(path).read_text().splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if head := re.fullmatch(r"\[(\w+)\]", line):
            sections.append((head[1].lower(), {}))
            continue
        name, _, value = line.partition(" ")
        if not sections or not value:
            raise ConfigurationError(f"{path}: {line}")
        value = re.sub(r"\$\{(\w+)\}", lambda found: os.environ.get(found[1], ""), value.strip())
        sections[-1][1][name.lower()] = value
    return sections


def check(section, properties, known, prefix=None):
    for name in properties:
        if name not in known and not (prefix and name.startswith(prefix)):
            raise ConfigurationError(f"[{section}] unknown configuration property '{name}'")


def one(sections, wanted):
    found = [properties for section, properties in sections if section == wanted]
    if len(found) != 1:
        raise ConfigurationError(f"{len(found)} sections [{wanted}]")
    return found[0]


def size_bytes(text):
    return int(float(text.rstrip("kKmMgG")) * SIZES.get(text[-1].lower(), 1))


def sha512(*parts):
    return hashlib.sha512(b"".join(parts)).hexdigest()


class SecureHandler(acking.Handler):
    """With a shared key it greets first, and closes without a word if the answer is wrong."""

    def handle(self):
        if self.server.shared_key is None or self.greets():
            super().handle()

    def greets(self):
        nonce, name, key = os.urandom(16), self.server.self_hostname, self.server.shared_key
        self.send(["HELO", {"nonce": nonce, "auth": os.urandom(16)}])
        # From one read, and each element a str.
        ping = msgpack.unpackb(self.request.recv(1024), raw=False)
        if len(ping) != 6 or ping[0] != "PING" or not all(type(part) is str for part in ping):
            return False
        client, salt, digest = (part.encode() for part in ping[1:4])
        if sha512(salt, client, nonce, key).encode() != digest:
            return False
        self.send(["PONG", True, "", name.decode(), sha512(salt, name, nonce, key)])
        return True

    def send(self, message):
        # Random bytes as a str, as the real one has them.
        self.request.sendall(msgpack.packb(message, use_bin_type=False))


class Input(acking.Collector):
    """Of [INPUT] forward; chunks: what it acknowledged."""
    handler = SecureHandler
    daemon_threads = False

    def __init__(self, properties):
        check("INPUT", properties, FORWARD)
        if properties["name"] != "forward":
            raise ConfigurationError(f"an input {properties['name']}")
        if properties.get("storage.type", "memory") not in ("memory", "filesystem", "memrb"):
            raise ConfigurationError(f"storage.type {properties['storage.type']}")
        key = properties.get("shared_key")
        self.shared_key = None if key is None else key.encode()
        self.self_hostname = properties.get("self_hostname", "localhost").encode()
        self.limit_bytes = size_bytes(properties.get("buffer_max_size", "6144000"))
        self.chunks = []
        super().__init__((properties.get("listen", "0.0.0.0"), int(properties.get("port", 24224))),
                         None)

    def take(self, tag, entries):
        if len(entries) > self.limit_bytes:
            raise ConnectionError("a chunk over buffer_max_size")
        self.chunks.append((tag, entries))


def at(wall_ns, pattern, fraction):
    return time.strftime(pattern, time.gmtime(wall_ns // NS_PER_SECOND)) + fraction


def microseconds(wall_ns):
    return f".{wall_ns % NS_PER_SECOND // 1000:06}"


# How each output writes a time. A format that it does not know is a double to it.
DOUBLE = {"double": lambda ns: ns / NS_PER_SECOND}
ISO8601 = {"iso8601": lambda ns: at(ns, "%Y-%m-%dT%H:%M:%S", microseconds(ns) + "Z")}
HTTP_DATES = DOUBLE | ISO8601 | {
    "epoch": lambda ns: ns // NS_PER_SECOND,
    "epoch_ms": lambda ns: ns // 1_000_000,
    "java_sql_timestamp": lambda ns: at(ns, "%Y-%m-%d %H:%M:%S", microseconds(ns)),
}
KAFKA_DATES = DOUBLE | ISO8601 | {
    "iso8601_ns": lambda ns: at(ns, "%Y-%m-%dT%H:%M:%S", f".{ns % NS_PER_SECOND:09}Z"),
}


class Output:
    """known: its properties; dates: its formats of time, by the property of that name."""

    def __init__(self, properties):
        check("OUTPUT", properties, self.known, self.prefix)
        self.properties = properties
        name = properties.get(self.date_format, "double").lower()
        if name not in self.dates:
            complain(f"unrecognized '{self.date_format}' option {name}. Using 'double'.")
        self.date = self.dates.get(name, DOUBLE["double"])
        self.date_name = properties.get(self.date_key[0], self.date_key[1])

    def json(self, entry):
        event_time, record = entry
        return json.dumps({self.date_name: self.date(records.wall_ns(event_time)), **record},
                          ensure_ascii=False, separators=(",", ":")).encode()

    def deliver(self, tag, entries):
        """True if nothing is left to deliver."""
        if not fnmatch.fnmatchcase(tag, self.properties.get("match", "")):
            return True
        return self.send([(self.json(entry), entry[1]) for entry in
                          records.unpack_entries(entries)[0]])


class HttpOutput(Output):
    known, prefix = HTTP, "net."
    dates, date_format, date_key = HTTP_DATES, "json_date_format", ("json_date_key", "date")
    # What a request is of the records' JSON.
    bodies = {"json": lambda rows: b"[" + b",".join(rows) + b"]", "json_stream": b"".join,
              "json_lines": lambda rows: b"\n".join(rows) + b"\n"}

    def send(self, rows):
        properties = self.properties
        body = self.bodies[properties.get("format", "json")]([row for row, _ in rows])
        credentials = f"{properties.get('http_user', '')}:{properties.get('http_passwd', '')}"
        client = http.client.HTTPConnection(properties["host"], int(properties["port"]),
                                            timeout=DEADLINE_SECONDS)
        client.request("POST", properties.get("uri", "/"), body, {
            "Authorization": "Basic " + base64.b64encode(credentials.encode()).decode()})
        response = client.getresponse()
        if not 200 <= response.status <= 205:
            complain(f"HTTP status={response.status}\n{response.read().decode()}")
        client.close()
        return 200 <= response.status <= 205


class KafkaOutput(Output):
    """By librdkafka, as the real one."""
    known, prefix = KAFKA, "rdkafka."
    dates, date_format, date_key = KAFKA_DATES, "timestamp_format", ("timestamp_key", "@timestamp")

    def __init__(self, properties):
        import confluent_kafka
        super().__init__(properties)
        if properties.get("format", "json") != "json":
            raise ConfigurationError(f"format {properties['format']}")
        settings = {"bootstrap.servers": properties["brokers"]}
        for name, value in properties.items():
            if name.startswith(self.prefix):
                name = name[len(self.prefix):]
                if self.can_be_set(confluent_kafka, name, value):
                    settings[name] = value
                else:
                    complain(f"cannot configure '{name}' property")
        self.producer = confluent_kafka.Producer(settings)

    @staticmethod
    def can_be_set(library, name, value):
        if name in ("compression.codec", "compression.type") and value not in CODECS_ALWAYS_BUILT:
            return False
        try:
            library.Producer({"bootstrap.servers": "127.0.0.1", "log_level": 0, name: value})
        except library.KafkaException:
            return False
        return True

    def send(self, rows):
        failures = []
        key = self.properties.get("message_key_field")
        for row, record in rows:
            self.producer.produce(self.properties["topics"], row, record.get(key),
                                  on_delivery=lambda error, _: error and failures.append(error))
        left = self.producer.flush(DEADLINE_SECONDS)
        if left or failures:
            complain(f"{left} messages are left, {failures[:3]}")
        return not left and not failures


OUTPUTS = {"http": HttpOutput, "kafka": KafkaOutput}


def main():
    sections = read_configuration(sys.argv[1])
    check("SERVICE", one(sections, "service"), SERVICE)
    output = one(sections, "output")
    output = OUTPUTS[output["name"]](output)
    collector = Input(one(sections, "input"))
    threading.Thread(target=collector.serve_forever, daemon=True).start()
    print(f"ready {collector.server_address[1]}", flush=True)
    sys.stdin.read()
    collector.shutdown()
    collector.server_close()
    # All of them, also after one has failed.
    return all([output.deliver(*chunk) for chunk in collector.chunks])


if __name__ == "__main__":
    sys.exit(not main())
