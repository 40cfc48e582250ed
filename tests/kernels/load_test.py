# SPDX-License-Identifier: GPL-2.0-only
"""
Whether a kernel accepts each program in each mode: load_test.py KERNEL. Boots it under an emulator, with
load_modes.c as the only process. A kernel of kernels.csv whose check is RefusedTest must refuse all of them.
"""
import re
import sys

import kernel_test

SAYS = "loads: "


def main(name):
    row = kernel_test.row_of(name)
    kernel = kernel_test.KERNELS / row["image"]
    loader = kernel_test.KERNELS / f"loader-{row['architecture']}.cpio"
    if not (kernel.is_dir() and loader.exists()):
        sys.exit(f"there is no {kernel} or no {loader}: tests/run loads makes them, or says why not")
    lines = kernel_test.run(kernel_test.emulator(row, kernel, loader, processors=1), SAYS)
    verdict = re.search(rf"^{SAYS}(\d+) modes, (\d+) refused$", "\n".join(lines), re.MULTILINE)
    is_refused = row["checks"] == "RefusedTest"
    if not verdict or int(verdict[2]) != (int(verdict[1]) if is_refused else 0):
        sys.exit("\n".join(["FAILED; the console:", *lines]))


if __name__ == "__main__":
    main(*sys.argv[1:])
