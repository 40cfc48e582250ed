# SPDX-License-Identifier: GPL-2.0-only
"""
The checks of checks.py on another kernel, emulated: kernel_test.py KERNEL [CHECK]..., of what
tests/kernels/images has made. The guest says on its console what came of each check; a panic, or an
end before the last check's, is a failure, which the whole console follows.
"""
import csv
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("CORRELATOR_BUILD", SOURCE / "build")).resolve()
KERNELS = BUILD / "kernels"
ROOT = KERNELS / "root.ext4"
# What goes along, below /correlator: the tree with its build folder, as far as the checks need it.
BUILT = ("bin/correlator", "fixtures", "ruby/lib")
SOURCES = ("fixtures", "include", "tests/kernels", "tests/live")
SAYS = "guest: "
# Only a hang gets there; ctest waits somewhat longer, and would not show the console.
SECONDS = 500


def pack(file):
    """What is tested, as an archive that the guest unpacks from a disk."""
    with tarfile.open(file, "w", dereference=True) as archive:
        for path in BUILT:
            archive.add(BUILD / path, f"correlator/build/{path}")
        for path in SOURCES:
            archive.add(SOURCE / path, f"correlator/{path}")


def emulator(kernel, archive, processor, checks):
    """
    Never KVM, where there is one: each machine is to run the same processor. QEMU 7.2's cmpxchg16b
    leaves wrong flags behind, which upon an interrupt become single steps, double faults and lists
    gone astray: most processors of kernels.csv have none. Newer kernels have no task storage without
    it (kmalloc_nolock()), and their allocator seldom uses it otherwise. With more than one thread
    there are other faults.
    """
    drives = [word for path in (ROOT, archive)
              for word in ("-drive", f"file={path},format=raw,if=virtio,snapshot=on")]
    settings = ("console=ttyS0 quiet oops=panic panic=-1 tsc=reliable clocksource=tsc "
                f"checks={','.join(checks)}")
    return ["qemu-system-x86_64", "-accel", "tcg,thread=single", "-cpu", processor, "-smp", "2",
            "-m", "2048", "-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio",
            "-kernel", kernel / "vmlinuz", "-initrd", kernel / "initramfs", *drives,
            "-append", settings]


def run(command):
    """The console's lines. The guest's own are shown at once, with the time since the start."""
    lines = []
    start = time.monotonic()
    with subprocess.Popen(command, text=True, errors="replace", stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as guest:
        limit = threading.Timer(SECONDS, guest.kill)
        limit.start()
        for line in map(str.rstrip, guest.stdout):
            lines.append(line)
            if line.startswith(SAYS):
                print(f"{time.monotonic() - start:6.1f} s  {line.removeprefix(SAYS)}", flush=True)
        limit.cancel()
    return lines


def main(name, *checks):
    kernel = KERNELS / name
    if not (kernel.is_dir() and ROOT.exists()):
        sys.exit(f"there is no {kernel} or no {ROOT}: tests/run --kernels makes them, or says why "
                 f"not in {name}.log and root.log beside them")
    with open(SOURCE / "tests/kernels/kernels.csv", encoding="ascii") as table:
        row = next(row for row in csv.DictReader(table) if row["kernel"] == name)
    print("Linux", (kernel / "version").read_text().strip(), flush=True)
    with tempfile.NamedTemporaryFile(suffix=".tar") as archive:
        pack(archive.name)
        lines = run(emulator(kernel, archive.name, row["processor"].replace(" ", ","),
                             checks or (row["checks"],)))
    if not re.search(rf"^{SAYS}[1-9]\d* checks, 0 failed$", "\n".join(lines), re.MULTILINE):
        sys.exit("\n".join(["FAILED; the console:", *lines]))


if __name__ == "__main__":
    main(*sys.argv[1:])
