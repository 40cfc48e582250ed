# SPDX-License-Identifier: GPL-2.0-only
"""
Figures of a view, {(row, label, name): value}, and how the tool shows texts.

A row is its kind, a label the values that it is of, as the tool shows them. What is not known is not there.
"""
import csv
import dataclasses
import io
import json

# Beyond it the tool has no number of billionths.
PARTS_MOST = 4e9
HISTOGRAM_PART = 0.008
ROUNDING_PERCENT = 1e-5
NAME_BYTES = 64
FORMULA = "=+-@"
# Fields of a row that are enough to name the row in which a difference is.
FIRST = {"cpu_ns", "of its parts", "requests"}
NAMES = {"thread", "comm", "endpoint"}


@dataclasses.dataclass(frozen=True)
class Near:
    """A figure that may be off by a part of itself; beyond PARTS_MOST it may be left out."""
    value: float
    part: float = 1e-6
    slack: float = 2e-6
    may_lack: bool = False

    def is_met(self, found):
        if found is None:
            return self.may_lack
        if isinstance(found, str):
            return False
        return abs(found - self.value) <= self.part * abs(self.value) + self.slack


def billionths(value):
    return Near(value, may_lack=value > PARTS_MOST)


def differences(expected, found):
    """[(path, what is expected, what was found)], what matters most first; None is not there."""
    wrong = []
    for path in sorted(expected.keys() | found.keys(), key=lambda path: (path[2] not in FIRST, path[2] in NAMES,
                                                                         repr(path))):
        one, other = expected.get(path), found.get(path)
        is_met = one.is_met(other) if isinstance(one, Near) else one == other
        if not is_met:
            wrong.append((path, one.value if isinstance(one, Near) else one, other))
    return wrong


def is_hidden(character):
    code = ord(character)
    return code in (0x61c, 0x180e, 0xfeff) or any(first <= code <= last for first, last in (
        (0, 0x1f), (0x7f, 0x9f), (0x200b, 0x200f), (0x2028, 0x202e), (0x2060, 0x206f), (0xfff9, 0xfffb),
        (0xd800, 0xdfff), (0xe0000, 0xe007f)))


def shown(text):
    """With what shows nothing as bytes."""
    return "".join("".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))
                   if is_hidden(character) else character for character in text)


def shown_name(text):
    """Cut, as the names beside a row are."""
    return shown(text.encode("utf-8", "surrogateescape")[:NAME_BYTES].decode("utf-8", "surrogateescape"))


def shown_label(place, by):
    if not isinstance(place, tuple):
        return (None,) * len(by)
    return tuple(part and shown(part) for part in place)


def read_row(kind, label, row, names):
    return {(kind, label, name): value for name, value in row.items() if name in names}


# A law: it is asserted of whatever has shares, and the reference says that it holds.
SHARES_HOLD = ("law", (), "no share is over 100 %")


def check_shares(rows, names=("share_percent",)):
    """Of rows as JSON has them."""
    return {SHARES_HOLD: all(-ROUNDING_PERCENT <= float(row[name]) <= 100 + ROUNDING_PERCENT
                             for row in rows for name in names if row.get(name) not in (None, ""))}


def load(output):
    return json.loads(output.decode("utf-8", "surrogateescape"))


def each_line(output):
    """Of ndjson."""
    return [json.loads(line) for line in output.decode("utf-8", "surrogateescape").split("\n")[:-1]]


def csv_rows(output):
    """The heading, and the cells of each row."""
    rows = list(csv.reader(io.StringIO(output.decode("utf-8", "surrogateescape"), newline=""), strict=True))
    return rows[0], rows[1:]


def csv_text(cell):
    """Without the sign by which a spreadsheet takes it for no formula."""
    return cell[1:] if cell[:1] == "'" and cell[1:2] and cell[1] in FORMULA else cell
