# SPDX-License-Identifier: GPL-2.0-only
"""Where what is shared with the other tests lies."""
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / folder) for folder in ("live", "laws", "forward")]
