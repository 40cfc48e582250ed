# SPDX-License-Identifier: GPL-2.0-only
"""
README's first command, fixtures/demo, on Debian 12's own kernel, emulated, in the root that
tests/kernels/fresh_root has made: it finds everything, records a real Puma under load, and ends with
the report. Emulation is slow and uneven, so no time is compared: the report has each of the load's
endpoints, and its books balance to the nanosecond.
"""
import pathlib
import re
import sys
import tempfile

import kernel_test

KERNEL = "6.1"
DISK = kernel_test.KERNELS / "fresh.ext4"
LAST = "next       --"
TIME = r" +[\d.]+ (?:ns|us|ms|s)"
# On what it was blocked most, if it was, and for how long on each.
BLOCKED = rf"(?: +[a-z]+ \d+ %)?(?:{TIME})*"
# How many, and a second, their CPU, its share, and of each of them mean, percentiles and more.
ENDPOINT = rf" +[1-9][\d,]* +[\d.]+{TIME} +[\d.]+ %(?:{TIME}){{10,}}{BLOCKED}(?: +[\d.,]+)*$"
# Its endpoint, CPU, wall time, user, kernel and more, the share, counts, and when it began.
REQUEST = rf"^\w+-\d{{6}} +GET \S+(?:{TIME}){{4,}}{BLOCKED} +[\d.]+ %(?: +[\d,]+)* +\d\d:\d\d:\d\d\.\d{{3}}$"


def endpoints_of_load():
    """As config.ru names them: of each kind that load.rb sends."""
    text = (kernel_test.SOURCE / "fixtures/load.rb").read_text()
    kinds = re.findall(r'^    "\w+" => ->\(\w+\) \{ "(/\w+)(/)?', text, re.MULTILINE)
    return [f"GET {path}{'/:id' if more else ''}" for path, more in kinds]


def problems(output):
    """What is wrong with what the demo printed."""
    def found(pattern):
        return re.search(pattern, output, re.MULTILINE)

    wanted = {
        "everything to be there": r"^\[1/5\] packages +nothing is missing ",
        "a build": r"^\[2/5\] build +correlator and its gem; this kernel has what it needs ",
        "requests, none failed": r"^\[4/5\] record .*; [1-9]\d* requests, 0 failed ",
        "requests with their times": REQUEST,
        "books that balance": r"^books      balanced to 0 ns of [^;]*; 0 lost; ",
        "the report's end": rf"^{LAST}",
        "exit status 0": rf"^{kernel_test.SAYS}the demo has ended with 0$",
    }
    wanted.update({endpoint: rf"^{re.escape(endpoint)}{ENDPOINT}"
                   for endpoint in endpoints_of_load()})
    return [f"the output has not {what}" for what, pattern in wanted.items() if not found(pattern)]


def main():
    row = kernel_test.row_of(KERNEL)
    kernel = kernel_test.KERNELS / row["image"]
    if not (kernel.is_dir() and DISK.exists()):
        sys.exit(f"there is no {kernel} or no {DISK}: tests/run fresh makes them, or says why "
                 f"not in {row['image']}.log and fresh.log beside them")
    # The tree is in the root already: an empty archive adds nothing.
    with tempfile.NamedTemporaryFile(suffix=".tar") as archive:
        archive.truncate(10240)
        lines = kernel_test.run(kernel_test.emulator(
            row, kernel, kernel / "initramfs", *kernel_test.drives(DISK, archive.name), setting="checks=demo"))
    found = problems("\n".join(lines))
    if found:
        sys.exit("\n".join(["FAILED; the console:", *lines, *found]))


if __name__ == "__main__":
    main()
