# SPDX-License-Identifier: GPL-2.0-only
"""What becomes of windows that are larger than memory: the memory of what waits, how long queueing one takes, and
what is lost."""
import subprocess
import tempfile

from forward import PROGRAM, Receiver
from processes import OTHER_CPUS
from tables import Table

MIB = 1 << 20
WINDOWS_MIB = [1, 8, 24, 96]
WINDOWS = 5
RATES = {"none": None, "5 MB/s": 5_000_000, "as fast as it can": 0}
GOAL_MEMORY_BYTES = 16 * MIB


def measure(url, window_mib, windows, spool):
    """(records, those lost, the longest wait in ns, the most memory in bytes)"""
    run = subprocess.run([PROGRAM, "burst", url, str(window_mib * MIB), str(windows), spool], check=True,
                         capture_output=True, text=True)
    return map(int, run.stdout.split())


def run(is_quick, progress):
    windows = 1 if is_quick else WINDOWS
    table = Table(f"{windows} windows, one a second, of", "collector", "longest wait", "memory", "lost", "goal")
    for window_mib in WINDOWS_MIB:
        for name, rate in RATES.items():
            for where in ("a file without a name", "a spool"):
                progress(f"{windows} windows of {window_mib} MiB, collector: {name}, {where}")
                with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
                    spool = folder if where == "a spool" else ""
                    if rate is None:
                        figures = measure("tcp://127.0.0.1:1", window_mib, windows, spool)
                    else:
                        with Receiver([PROGRAM, "sink", str(rate)], cpus=OTHER_CPUS) as receiver:
                            figures = measure(receiver.url, window_mib, windows, spool)
                    records, lost, longest_ns, memory_bytes = figures
                mark = "✓" if memory_bytes <= GOAL_MEMORY_BYTES else "✗"
                table.add(f"{window_mib} MiB, to {where}", name, f"{longest_ns / 1e6:,.1f} ms",
                          f"{memory_bytes / MIB:.1f} MiB {mark}", f"{lost:,} of {records:,}", "≤ 16 MiB")
    return table
