# SPDX-License-Identifier: GPL-2.0-only
"""The figures of correlator/figures/figures.def, as the preprocessor expands it."""
import functools
import pathlib
import re
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MACROS = "\n".join((
    "#include <correlator/blocked_reason.h>",
    "#define COST(id, name, title, ...) FIGURE_ROW name | title",
    "#define FIGURE(id, name, title, ...) FIGURE_ROW name | title",
    '#include "figures/figures.def"'))


@functools.cache
def titles():
    """{name: title on a screen}, in order; of a key the title is its own name, here None."""
    text = subprocess.run(["cc", "-E", "-P", "-x", "c", f"-I{SOURCE}/include", f"-I{SOURCE}/correlator", "-"],
                          input=MACROS, capture_output=True, text=True, check=True).stdout
    rows = re.findall(r'FIGURE_ROW ((?:"[^"]*" *)+)\| ((?:"[^"]*" *)+|\S+)', text)
    return {join(name): join(title) if title.startswith('"') else None for name, title in rows}


def join(literals):
    return "".join(re.findall(r'"([^"]*)"', literals))
