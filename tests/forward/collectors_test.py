#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""fixtures/collectors: what the tool sends is in ClickHouse, whole, by each way that ends there.

ClickHouse, librdkafka and Ruby are the real ones (clickhouse.js); Fluent Bit, Fluentd and Vector are
stand-ins that read the configurations and are as strict (fluent_bit.py, fluentd.rb, vector.py).
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))

import confluent_kafka  # noqa: E402

import harness  # noqa: E402
import records  # noqa: E402
from harness import Process, Recording, Workload, run_correlator  # noqa: E402

COLLECTORS = harness.FIXTURES / "collectors"
KEY, USER, PASSWORD = "a shared key", "puma", "pass word"
NS_PER_US = 1000
STAND_INS = {"fluent-bit": [sys.executable, HERE / "fluent_bit.py"],
             "fluentd": ["ruby", HERE / "fluentd.rb"], "vector": [sys.executable, HERE / "vector.py"]}
# Of a column of each type that a record does not have.
DEFAULTS = {"String": "", "LowCardinality(String)": "", "Array(LowCardinality(String))": [],
            "Nullable(UInt64)": None, "Nullable(Int64)": None, "UInt64": 0, "Int64": 0, "UInt32": 0}


class Talker(Process):
    """A server that says `ready PORT`, and ends when its standard input does."""

    def __init__(self, command, **options):
        super().__init__(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         **options)
        words = self.process.stdout.readline().split()
        if words[:1] != ["ready"]:
            said = self.process.stderr.read() if self.process.stderr else ""
            self.__exit__()
            raise RuntimeError(f"{command} does not start: {said}")
        self.port = int(words[1])


class ClickHouse(Talker):
    """With the table of clickhouse.sql."""

    def __init__(self, folder):
        super().__init__(["node", HERE / "clickhouse.js", folder],
                         env={**os.environ, "NODE_PATH": str(harness.BUILD / "npm/node_modules")})
        self.query((COLLECTORS / "clickhouse.sql").read_text())

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def query(self, text, **parameters):
        request = urllib.request.Request(f"{self.url}/?{urllib.parse.urlencode(parameters)}",
                                         text.encode())
        try:
            with urllib.request.urlopen(request, timeout=harness.DEADLINE_SECONDS) as response:
                return response.read().decode()
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()) from error

    def rows(self, query, **parameters):
        """Of a query without a format."""
        text = self.query(f"{query.strip().rstrip(';')} FORMAT JSONEachRow "
                          "SETTINGS output_format_json_quote_64bit_integers = 0", **parameters)
        return [json.loads(line) for line in text.splitlines()]


class Collector(Talker):
    """A stand-in, with a copy of its configuration that has the folder and the ports of a test."""

    def __init__(self, folder, name, environment, edit=lambda text: text):
        program = next(program for start, program in STAND_INS.items() if name.startswith(start))
        text = edit((COLLECTORS / name).read_text())
        for place, path in (("24224", "0"), ("8123", environment.get("CLICKHOUSE_PORT", "8123")),
                            ("/var/lib", folder), ("/etc/fluentd", folder)):
            text = text.replace(place, str(path))
        configuration = folder / name
        configuration.write_text(text)
        super().__init__([*program, configuration], stderr=subprocess.PIPE,
                         env={**os.environ, **environment})

    def finish(self):
        """(whether all is delivered, what it complained of)"""
        _, complaints = self.process.communicate(timeout=harness.DEADLINE_SECONDS)
        return self.process.returncode == 0, complaints


class KafkaCluster:
    """librdkafka's own broker, which lives as long as its client."""

    def __init__(self):
        self.client = confluent_kafka.Producer({"test.mock.num.brokers": 1, "log_level": 0})
        (broker,) = self.client.list_topics(timeout=harness.DEADLINE_SECONDS).brokers.values()
        self.address = f"{broker.host}:{broker.port}"


class CollectorsTest(harness.LiveTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="correlator-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.recording = pathlib.Path(folder.name) / "recording"
        with Workload("sequential.rb", 24) as workload:
            with Recording(cls.recording, "-p", workload.pid, "-i", "50ms",
                           "-k", "request_id", "-k", "endpoint") as recording:
                workload.run()
                if recording.stop() != harness.EXIT_OK:
                    raise RuntimeError(recording.messages)

    def setUp(self):
        super().setUp()
        self.clickhouse = self.enter(ClickHouse(self.folder / "clickhouse"))
        self.key_file = self.secret("key", KEY)
        self.password_file = self.secret("password", PASSWORD)

    def secret(self, name, text):
        path = self.folder / name
        path.write_text(text + "\n")
        path.chmod(0o600)
        return path

    def certificate(self):
        """Of fluentd.conf; the file that `--tls-ca` takes."""
        key, certificate = self.folder / "key.pem", self.folder / "cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key,
                        "-out", certificate], check=True, capture_output=True)
        return certificate

    def send(self, scheme, collector, *arguments):
        result = run_correlator("forward", self.recording, "--to",
                                f"{scheme}://127.0.0.1:{collector.port}", *arguments)
        self.assertEqual(harness.EXIT_OK, result.returncode, result.stderr)
        return collector.finish()

    def by_fluent_bit(self, **options):
        environment = {"CORRELATOR_KEY": KEY, "CLICKHOUSE_HOST": "127.0.0.1",
                       "CLICKHOUSE_PORT": str(self.clickhouse.port), "CLICKHOUSE_USER": "default",
                       "CLICKHOUSE_PASSWORD": ""}
        with Collector(self.folder, "fluent-bit-clickhouse.conf", environment, **options) as bit:
            return self.send("tcp", bit, "--shared-key-file", self.key_file)

    def by_fluent_bit_to(self, cluster, **options):
        environment = {"CORRELATOR_KEY": KEY, "KAFKA_BROKERS": cluster.address}
        with Collector(self.folder, "fluent-bit-kafka.conf", environment, **options) as bit:
            return self.send("tcp", bit, "--shared-key-file", self.key_file)

    def by_fluentd(self, **options):
        authority = self.certificate()
        environment = {"CORRELATOR_KEY": KEY, "CORRELATOR_PASSWORD": PASSWORD,
                       "CLICKHOUSE_URL": self.clickhouse.url}
        with Collector(self.folder, "fluentd.conf", environment, **options) as fluentd:
            return self.send("tls", fluentd, "--tls-ca", authority, "--shared-key-file",
                             self.key_file, "--user", USER, "--password-file", self.password_file)

    def by_vector(self, **options):
        environment = {"CLICKHOUSE_PORT": str(self.clickhouse.port)}
        with Collector(self.folder, "vector.yaml", environment, **options) as vector:
            return self.send("tcp", vector)

    def read_from(self, cluster):
        """The part of clickhouse.sql about Kafka, on the test's broker."""
        text = (COLLECTORS / "clickhouse.sql").read_text()
        statements = re.search(r"-- CREATE TABLE correlator_topic.*", text, re.S)[0]
        statements = re.sub(r"^-- ", "", statements, flags=re.M)
        self.assertIn("kafka-1:9092", statements)
        for statement in statements.replace("kafka-1:9092", cluster.address).split(";\n"):
            if statement.strip():
                self.clickhouse.query(statement)

    def expected(self):
        """{record_id: row}"""
        types = {column["name"]: column["type"]
                 for column in self.clickhouse.rows("SELECT name, type FROM system.columns "
                                                    "WHERE table = 'correlator'")}
        rows = {}
        for time, record in records.read_records(self.recording):
            row = {name: record.get(name, DEFAULTS[kind]) for name, kind in types.items()
                   if name != "ts"}
            rows[record["record_id"]] = {**row, "us": records.wall_ns(time) // NS_PER_US}
        return rows

    def kept(self):
        """{record_id: row}, once ClickHouse has merged all: that deletes by the table's TTL."""
        self.clickhouse.query("OPTIMIZE TABLE correlator FINAL")
        rows = self.clickhouse.rows(
            "SELECT * EXCEPT ts, toUnixTimestamp64Micro(ts) AS us FROM correlator")
        by_id = {row["record_id"]: row for row in rows}
        self.assertEqual(len(by_id), len(rows), "a record is there more than once")
        return by_id

    def check(self, outcome):
        """That each record is there, with all its fields; and no more."""
        expected = self.expected()
        self.assertGreater(len(expected), 20)
        self.assertEqual(expected, self.kept(), outcome)
        self.assertEqual((True, ""), outcome)

    def test_by_fluent_bit(self):
        self.check(self.by_fluent_bit())

    def test_by_fluent_bit_and_kafka(self):
        cluster = KafkaCluster()
        outcome = self.by_fluent_bit_to(cluster)
        self.read_from(cluster)
        count = len(self.expected())
        harness.await_true(lambda: len(self.kept()) >= count, "ClickHouse to read the topic")
        self.check(outcome)

    def test_by_fluentd(self):
        self.check(self.by_fluentd())

    def test_by_vector(self):
        self.check(self.by_vector())

    def test_what_arrives_twice_and_by_other_ways_counts_once(self):
        for way in (self.by_fluent_bit, self.by_fluent_bit, self.by_fluentd, self.by_vector):
            self.check(way())

    def test_the_questions_are_answered_with_the_recordings_sums(self):
        self.check(self.by_fluent_bit())
        found = records.of_kind([record for _, record in records.read_records(self.recording)],
                                "cpu")
        endpoints = {}
        for record in found:
            if record.get("request_id"):
                endpoints.setdefault(record["endpoint"], []).append(record)
        for row in self.clickhouse.rows((COLLECTORS / "top_endpoints.sql").read_text()):
            mine = endpoints.pop(row["endpoint"])
            self.assertAlmostEqual(sum(record["cpu_ns"] for record in mine) / 1e9,
                                   row["cpu_seconds"], places=9)
            self.assertEqual(len({record["request_id"] for record in mine}), row["requests"])
        self.assertEqual({}, endpoints)
        (host,) = self.clickhouse.rows((COLLECTORS / "kernel_share.sql").read_text())
        self.assertAlmostEqual(sum(record["kernel_ns"] for record in found) / 1e9,
                               host["kernel_seconds"], places=9)
        request = next(record["request_id"] for record in found if record.get("request_id"))
        windows = self.clickhouse.rows((COLLECTORS / "one_request.sql").read_text(),
                                       param_request_id=request)
        self.assertEqual(sorted(record["user_ns"] / 1e6 for record in found
                                if record.get("request_id") == request),
                         sorted(window["user_ms"] for window in windows))

    def test_what_a_collector_does_not_know_is_seen(self):
        """What the real ones were seen to do with configurations that look right."""
        def unknown(old, new):
            def edit(text):
                self.assertIn(old, text)
                return text.replace(old, new)
            return {"edit": edit}

        delivered, complaints = self.by_fluent_bit(
            **unknown("json_date_format         iso8601", "json_date_format         iso8601_ns"))
        self.assertFalse(delivered)
        self.assertIn("CANNOT_PARSE", complaints)
        self.assertEqual({}, self.kept())
        delivered, complaints = self.by_fluentd(**unknown("<filter correlator.**>", "<filter no>"))
        self.assertTrue(delivered, complaints)
        self.assertEqual({}, self.kept(), complaints)
        delivered, complaints = self.by_fluent_bit_to(
            KafkaCluster(), **unknown("compression.codec  lz4", "compression.codec  zstd"))
        self.assertTrue(delivered, complaints)
        self.assertIn("cannot configure 'compression.codec'", complaints)
        with self.assertRaisesRegex(RuntimeError, "unknown configuration property 'sync'"):
            self.by_fluent_bit(**unknown("storage.sync ", "sync "))
        with self.assertRaisesRegex(RuntimeError, "invalid uri .{CLICKHOUSE_URL"):
            self.by_vector(**unknown("http://127.0.0.1", "${CLICKHOUSE_URL:-http://127.0.0.1}"))


if __name__ == "__main__":
    harness.main()
