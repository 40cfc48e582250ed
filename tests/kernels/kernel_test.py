# SPDX-License-Identifier: GPL-2.0-only
"""
The checks of checks.py on another kernel, emulated: kernel_test.py KERNEL [CHECK]..., of what
tests/kernels/images has made. The guest says on its console what came of each check; a panic, or an
end before the last check's, is a failure, which the whole console follows.
"""
import collections
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
# What goes along, below /correlator: the tree with its build folder, as far as the checks need it.
BUILT = ("bin/correlator", "fixtures", "ruby/lib", "ruby/test/gvl_truth.so")
SOURCES = ("fixtures", "include", "tests/kernels", "tests/laws", "tests/live")
SAYS = "guest: "
# Only a hang gets there; ctest waits somewhat longer, and would not show the console.
SECONDS = 1800


def pack(build, file):
    """What is tested, as an archive that the guest unpacks from a disk."""
    with tarfile.open(file, "w", dereference=True) as archive:
        for path in BUILT:
            archive.add(build / path, f"correlator/build/{path}")
        for path in SOURCES:
            archive.add(SOURCE / path, f"correlator/{path}")


# By Debian's name of the architecture. Never KVM, where there is one: each machine is to run the
# same processor. QEMU 7.2's cmpxchg16b leaves wrong flags behind, which upon an interrupt become
# single steps, double faults and lists gone astray: most processors of kernels.csv have none. Newer
# kernels have no task storage without it (kmalloc_nolock()), and their allocator seldom uses it
# otherwise. With more than one thread there are other faults, on x86-64.
EMULATORS = {
    "amd64": (["qemu-system-x86_64", "-accel", "tcg,thread=single"],
              "console=ttyS0 tsc=reliable clocksource=tsc"),
    "arm64": (["qemu-system-aarch64", "-accel", "tcg,thread=multi", "-machine", "virt"],
              "console=ttyAMA0"),
}


def emulator(row, kernel, initramfs, *words, setting="", processors=2):
    """words: more of the emulator's arguments; setting: more of the kernel's."""
    command, console = EMULATORS[row["architecture"]]
    settings = f"{console} quiet oops=panic panic=-1 {row['setting']} {setting}"
    return [*command, "-cpu", row["processor"].replace(" ", ","), "-smp", str(processors),
            "-m", "2048", "-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio",
            "-kernel", kernel / "vmlinuz", "-initrd", initramfs, *words, "-append", settings]


def drives(*paths):
    return [word for path in paths
            for word in ("-drive", f"file={path},format=raw,if=virtio,snapshot=on")]


def run(command, says=SAYS):
    """The console's lines. The guest's own are shown at once, with the time since the start."""
    lines = []
    start = time.monotonic()
    with subprocess.Popen(command, text=True, errors="replace", stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as guest:
        limit = threading.Timer(SECONDS, guest.kill)
        limit.start()
        for line in map(str.rstrip, guest.stdout):
            lines.append(line)
            if line.startswith(says):
                print(f"{time.monotonic() - start:6.1f} s  {line.removeprefix(says)}", flush=True)
        limit.cancel()
    return lines


def keep_verdicts(name, lines):
    """For `table`: how many of each class were right."""
    counts = collections.defaultdict(lambda: [0, 0])
    for line in lines:
        verdict = re.match(rf"{SAYS}(ok|FAILED) +(\w+)\.", line)
        if verdict:
            counts[verdict[2]][0] += verdict[1] == "ok"
            counts[verdict[2]][1] += 1
    rows = [f"{check},{right},{count}\n" for check, (right, count) in sorted(counts.items())]
    (KERNELS / f"{name}.verdicts").write_text("".join(rows))


def row_of(name):
    with open(SOURCE / "tests/kernels/kernels.csv", encoding="ascii") as table:
        return next(row for row in csv.DictReader(table) if row["kernel"] == name)


def main(name, *checks):
    row = row_of(name)
    kernel = KERNELS / row["image"]
    root = KERNELS / f"root-{row['architecture']}.ext4"
    build = BUILD if row["architecture"] == "amd64" else KERNELS / f"build-{row['architecture']}"
    if not (kernel.is_dir() and root.exists() and (build / "bin/correlator").exists()):
        sys.exit(f"there is no {kernel}, no {root} or nothing in {build}: tests/run kernels makes "
                 f"them, or says why not in {row['image']}.log and {root.stem}.log beside them")
    print("Linux", (kernel / "version").read_text().strip(), row["architecture"], row["setting"],
          flush=True)
    with tempfile.NamedTemporaryFile(suffix=".tar") as archive:
        pack(build, archive.name)
        setting = f"checks={','.join(checks or row['checks'].split())}"
        lines = run(emulator(row, kernel, kernel / "initramfs", *drives(root, archive.name),
                             setting=setting))
    if not checks:
        keep_verdicts(name, lines)
    if not re.search(rf"^{SAYS}[1-9]\d* checks, 0 failed$", "\n".join(lines), re.MULTILINE):
        sys.exit("\n".join(["FAILED; the console:", *lines]))


if __name__ == "__main__":
    main(*sys.argv[1:])
