# SPDX-License-Identifier: GPL-2.0-only
"""The dump subcommand: every record, as it was written, a line of JSON. CORRELATOR names the binary."""
import io
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import msgpack

CORRELATOR = os.path.abspath(os.environ["CORRELATOR"])
RECORDING = pathlib.Path(__file__).resolve().parents[3] / "fixtures" / "golden" / "shop.rec"
OK, FAILURE, USAGE = 0, 1, 2


def dump(*arguments, **options):
    return subprocess.run([CORRELATOR, "dump", *map(str, arguments)], timeout=60, check=False,
                          env={"PATH": os.environ["PATH"], "LC_ALL": "C"}, capture_output=True,
                          **options)


def read(data):
    """The records, each with its own time."""
    for time, record in msgpack.Unpacker(io.BytesIO(data)):
        seconds, nanoseconds = (int.from_bytes(time.data[at:at + 4], "big") for at in (0, 4))
        yield {"wall_ns": seconds * 10 ** 9 + nanoseconds, **record}


class DumpTest(unittest.TestCase):
    def lines(self, *arguments, **options):
        result = dump(*arguments, **options)
        self.assertEqual((OK, b""), (result.returncode, result.stderr))
        return [json.loads(line) for line in result.stdout.splitlines()]

    def test_every_field_of_every_record_is_there_in_its_order(self):
        records = list(read(RECORDING.read_bytes()))
        lines = self.lines(RECORDING)
        self.assertEqual(records, lines)
        self.assertEqual([list(record) for record in records], [list(line) for line in lines])

    def test_it_reads_standard_input_several_files_and_what_record_writes_by_default(self):
        lines = self.lines(RECORDING)
        self.assertEqual(lines, self.lines("-", input=RECORDING.read_bytes()))
        self.assertEqual(2 * lines, self.lines(RECORDING, RECORDING))
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "correlator.msgpack").write_bytes(RECORDING.read_bytes())
            self.assertEqual(lines, self.lines(cwd=folder))

    def test_kinds_may_be_chosen(self):
        records = list(read(RECORDING.read_bytes()))
        for kinds in ["cpu"], ["gap"], ["meta", "balance"], ["process", "self"], ["slice"], ["alert"]:
            options = [option for kind in kinds for option in ("--kind", kind)]
            self.assertEqual([record for record in records if record["kind"] in kinds],
                             self.lines(*options, RECORDING))

    def test_what_is_no_text_is_escaped(self):
        data = RECORDING.read_bytes().replace(b"POST /cart/", b"P\x1b\xff\x00 /cart/")
        line = next(line for line in self.lines("-", input=data)
                    if line.get("request_id") == "req-3")
        self.assertEqual("P\\x1b\\xff\\x00 /cart/été", line["endpoint"])

    def test_damage_is_said_and_what_is_left_is_there(self):
        data = RECORDING.read_bytes()
        second = data.index(b"\x92\xd7\0", 1)
        third = data.index(b"\x92\xd7\0", second + 1)
        result = dump("-", input=data[:second] + bytes(third - second) + data[third:])
        self.assertEqual(FAILURE, result.returncode)
        self.assertIn(f"byte {second}: damaged".encode(), result.stderr)
        self.assertEqual(len(list(read(data))) - 1, len(result.stdout.splitlines()))

    def test_what_comes_behind_a_file_that_is_damaged_or_none_is_there_too(self):
        data = RECORDING.read_bytes()
        for first in data[:900] + b"\xc1" * 9 + data[900:], b"none":
            alone, both = dump("-", input=first), dump("-", RECORDING, input=first)
            self.assertEqual((FAILURE, FAILURE), (alone.returncode, both.returncode))
            self.assertEqual(alone.stdout + dump(RECORDING).stdout, both.stdout)
        result = dump("/nonexistent", RECORDING)
        self.assertEqual((FAILURE, b""), (result.returncode, result.stdout))

    def test_what_cannot_be_is_told(self):
        for code, arguments, says in [
                (USAGE, ["--kind", "wait", RECORDING],
                 "meta, process, cpu, slice, stack, sample, syscall, io, stall, balance, gap, self, alert"),
                (USAGE, [], "there is no correlator.msgpack here"),
                (FAILURE, ["/nonexistent.rec"], "/nonexistent.rec"),
                (FAILURE, [__file__], "not a recording")]:
            with self.subTest(arguments=arguments), tempfile.TemporaryDirectory() as folder:
                result = dump(*arguments, cwd=folder)
                self.assertEqual(code, result.returncode)
                self.assertIn(says, result.stderr.decode())
                self.assertNotIn(b"not permitted", result.stderr)
                self.assertEqual(b"", result.stdout)

    def test_a_writer_is_not_waited_for_when_nobody_reads(self):
        with subprocess.Popen([CORRELATOR, "dump", "-"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, bufsize=0) as process:
            process.stdout.close()
            with self.assertRaises(BrokenPipeError):
                for _ in range(1000):
                    process.stdin.write(RECORDING.read_bytes())
        self.assertEqual(OK, process.returncode)

    def test_a_reader_that_has_seen_enough_is_no_error_but_a_full_disk_is(self):
        command = [CORRELATOR, "dump", *[str(RECORDING)] * 2000]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.readline()
            process.stdout.close()
            error = process.stderr.read()
        self.assertEqual((OK, b""), (process.returncode, error))
        with open("/dev/full", "wb") as full:
            process = subprocess.run([CORRELATOR, "dump", str(RECORDING)], stdout=full,
                                     stderr=subprocess.PIPE, timeout=60, check=False)
        self.assertEqual(FAILURE, process.returncode)
        self.assertIn(b"cannot write the records: No space left", process.stderr)


if __name__ == "__main__":
    unittest.main()
