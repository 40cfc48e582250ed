# SPDX-License-Identifier: GPL-2.0-only
"""The verify subcommand, and what is made of a bit that changed. CORRELATOR names the binary."""
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

import msgpack

import checked
from scripted_collector import Collector, entries, take_all

CORRELATOR = os.path.abspath(os.environ["CORRELATOR"])
RECORDING = pathlib.Path(__file__).resolve().parents[3] / "fixtures" / "golden" / "shop.rec"
OK, FAILURE, USAGE = 0, 1, 2
RECORDER = "b03da306:1:2:"
BITS = 150
SEED = 30


def run(*arguments, **options):
    return subprocess.run([CORRELATOR, *map(str, arguments)], text=True, timeout=60, check=False,
                          env={"PATH": os.environ["PATH"], "LC_ALL": "C"}, capture_output=True, **options)


def record(number):
    time = b"\xd7\x00" + (1_700_000_000).to_bytes(4, "big") + number.to_bytes(4, "big")
    return b"\x92" + time + msgpack.packb({
        "schema": 1, "kind": "cpu", "record_id": f"{RECORDER}{number}", "host_name": "h", "pid": 1,
        "cpu_ns": 1000 * number})


def span(first, count):
    return [record(number) for number in range(first, first + count)]


class VerifyTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="correlator-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, data, name="a.rec"):
        path = self.folder / name
        path.write_bytes(data)
        return path

    def spool(self, **segments):
        """A spool with these segments, the rest of whose names is the same."""
        folder = self.folder / "spool"
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / "lock").touch()
        for number, (end, data) in enumerate(segments.items(), 1):
            name = f"{number:016}-{number:032x}"
            (folder / (f"{name}-4-1-2.{end}" if end.startswith("chunk") else f"{name}.{end}")).write_bytes(data)
        return folder

    def check(self, code, *arguments, says=(), **options):
        result = run("verify", *arguments, **options)
        self.assertEqual(code, result.returncode, result.stdout + result.stderr)
        for line in says:
            self.assertIn(line, result.stdout.splitlines())
        return result

    def test_what_is_whole(self):
        path = self.file(checked.recording(span(1, 3), span(4, 1)))
        result = self.check(OK, path, says=(f"{path}: whole: 4 records, 3 checks",
                                            f"{RECORDER} numbers 1 to 4: none is missing"))
        self.assertEqual("", result.stderr)

    def test_standard_input_and_what_record_writes_by_default(self):
        path = self.file(checked.recording(span(1, 3)), name="correlator.msgpack")
        self.check(OK, cwd=self.folder, says=("correlator.msgpack: whole: 3 records, 2 checks",))
        with path.open("rb") as file:
            self.check(OK, "-", stdin=file, says=("-: whole: 3 records, 2 checks",))

    def test_what_has_no_checks(self):
        path = self.file(b"".join(span(1, 2)))
        self.check(OK, path, says=(f"{path}: readable, without checks: 2 records, 0 checks",))
        self.check(OK, RECORDING)

    def test_what_was_cut_off(self):
        data = checked.recording(span(1, 3), span(4, 2))
        path = self.file(data[:-60])
        result = self.check(FAILURE, path, says=(f"{path}: CUT OFF: 4 records, 2 checks",))
        self.assertIn("a recording was cut off there", result.stderr)

    def test_what_is_damaged(self):
        data = bytearray(checked.recording(span(1, 3), span(4, 2), span(6, 2)))
        at = data.index(record(5))
        data[at + 20] ^= 1
        path = self.file(data)
        size = len(b"".join(span(4, 2))) + 56
        result = self.check(FAILURE, path, says=(
            f"{path}: DAMAGED: 5 records, 3 checks; {size} bytes in 1 places are not what was written",
            f"{RECORDER} numbers 1 to 7: 2 MISSING: 4-5"))
        self.assertIn("by their check", result.stderr)

    def test_which_numbers_are_missing_in_all_that_is_named(self):
        one = self.file(checked.recording(span(1, 2), span(7, 1), span(9, 2)), "one.rec")
        other = self.file(checked.recording(span(4, 2), span(7, 1)), "other.rec")
        self.check(FAILURE, one, other, says=(f"{RECORDER} numbers 1 to 10: 3 MISSING: 3 6 8",
                                              "1 records are there more than once"))
        many = self.file(checked.recording(*(span(2 * number, 1) for number in range(1, 12))), "many.rec")
        self.check(FAILURE, many, says=(
            f"{RECORDER} numbers 2 to 22: 10 MISSING: 3 5 7 9 11 13 15 17 ...",))

    def test_a_spool(self):
        folder = self.spool(chunks=checked.recording(span(1, 4)), chunk=b"".join(span(5, 4)),
                            part=checked.recording(span(9, 2)))
        self.check(OK, folder, says=(f"{folder}: 3 of 3 segments are whole: 10 records, 4 checks",
                                     f"{RECORDER} numbers 1 to 10: none is missing"))
        (folder / "damaged").mkdir()
        (folder / "damaged" / "one").touch()
        (folder / "rejected").mkdir()
        (folder / "rejected" / "rejected.msgpack").touch()
        self.check(FAILURE, folder, says=(f"{folder}/damaged: 1 segments were set aside",
                                          f"{folder}/rejected: there are records that no collector took"))

    def test_a_folder_that_is_none_and_a_spool_without_anything(self):
        self.assertIn("is a folder, but not the spool", self.check(FAILURE, self.folder).stderr)
        folder = self.spool()
        self.check(OK, folder, says=(f"{folder}: nothing waits there",))

    def test_a_segment_that_is_damaged_is_named(self):
        data = bytearray(checked.recording(span(1, 4)))
        data[100] ^= 1
        folder = self.spool(chunks=data)
        name = next(folder.glob("*.chunks"))
        result = run("verify", folder)
        self.assertEqual(FAILURE, result.returncode)
        self.assertIn(f"{folder}: 0 of 1 segments are whole: 0 records, 0 checks", result.stdout)
        self.assertIn(f"{name}: byte 56: damaged", result.stderr)

    def test_what_cannot_be_read(self):
        for path, says in ((self.folder / "none", "No such file"), (__file__, "not a recording")):
            self.assertIn(says, self.check(FAILURE, path).stderr)
        self.check(USAGE, "--nonsense")
        self.check(USAGE, cwd=self.folder)

    def test_nobody_who_reads_it(self):
        path = self.file(checked.recording(span(1, 3)))
        with open("/dev/full", "w") as full:
            result = subprocess.run([CORRELATOR, "verify", path], stdout=full, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(FAILURE, result.returncode)
        self.assertIn(b"cannot write what was found", result.stderr)

    def each_bit(self, data, look):
        """look at these bytes with a bit changed; bits are drawn, the same each time."""
        draw = random.Random(SEED)
        for _ in range(BITS):
            bit = draw.randrange(8 * len(data))
            changed = bytearray(data)
            changed[bit // 8] ^= 1 << bit % 8
            with self.subTest(bit=bit):
                look(changed)

    def test_of_150_flipped_bits_150_are_found(self):
        data = checked.recording(span(1, 40), span(41, 40), span(81, 20))

        def look(changed):
            self.check(FAILURE, self.file(changed))

        self.each_bit(data, look)

    def test_and_no_wrong_record_is_sent_of_a_file_or_a_spool(self):
        good = set(span(1, 100))
        data = checked.recording(span(1, 40), span(41, 40), span(81, 20))

        def look_at(what):
            with Collector(take_all) as peer:
                result = run("forward", what, "--to", peer.url)
            self.assertEqual(FAILURE, result.returncode, result.stderr)
            self.assertLessEqual(set(entries(peer.payload)), good)

        self.each_bit(data, lambda changed: look_at(self.file(changed)))
        self.each_bit(data, lambda changed: look_at(self.spool(chunks=changed)))


if __name__ == "__main__":
    unittest.main()
