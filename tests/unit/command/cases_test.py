# SPDX-License-Identifier: GPL-2.0-only
"""Command lines and what they print: cases/*.txt, read by people, too. CORRELATOR names the binary.

A case is a line `$ COMMAND`, run by a shell in fixtures/golden on 80 columns, and below it, indented, what it prints: standard
output, then standard error (`! LINE`), then its exit status if that is not 0 (`[exit 1]`). Other lines are comments.
$TMPDIR/io.rec is the recording of forged_records.io().
GOLDEN_WRITE=1 writes what is printed now; look at the difference.
"""
import os
import pathlib
import subprocess
import tempfile
import unittest

import forged_records

CORRELATOR = pathlib.Path(os.environ["CORRELATOR"]).resolve()
HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE.parents[2] / "fixtures" / "golden"
PROMPT, INDENT = "$ ", "  "


def run(command, folder):
    """The lines that it prints, as a case has them."""
    environment = {"PATH": f"{CORRELATOR.parent}:{os.environ['PATH']}", "COLUMNS": "80", "LC_ALL": "C",
                   "TZ": "UTC", "TMPDIR": folder}
    done = subprocess.run(["sh", "-c", command], cwd=GOLDEN, env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60)
    lines = done.stdout.splitlines() + [f"! {line}" for line in done.stderr.splitlines()]
    if done.returncode:
        lines.append(f"[exit {done.returncode}]")
    return [(INDENT + line).rstrip().replace(folder, "$TMPDIR") for line in lines]


def sections(lines):
    """(line, what is indented below it), for each line that is not."""
    found = []
    for line in lines:
        if line.startswith(INDENT) and found:
            found[-1][1].append(line)
        elif not line and found and found[-1][1] and found[-1][0].startswith(PROMPT):
            found[-1][1].append(line)
        else:
            found.append((line, []))
    return found


def without_blank_end(lines):
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


class CasesTest(unittest.TestCase):
    maxDiff = None

    def test_each_command_prints_what_its_case_says(self):
        for path in sorted((HERE / "cases").glob("*.txt")):
            written = []
            with tempfile.TemporaryDirectory() as folder:
                (pathlib.Path(folder) / "io.rec").write_bytes(forged_records.io())
                for line, expected in sections(path.read_text().splitlines()):
                    written.append(line)
                    if not line.startswith(PROMPT):
                        written += expected
                        continue
                    printed = run(line[len(PROMPT):], folder)
                    written += [*printed, ""]
                    if not os.environ.get("GOLDEN_WRITE"):
                        with self.subTest(file=path.name, command=line):
                            self.assertEqual(without_blank_end(expected), without_blank_end(printed))
            if os.environ.get("GOLDEN_WRITE"):
                path.write_text("\n".join(without_blank_end(written)) + "\n")


if __name__ == "__main__":
    unittest.main()
