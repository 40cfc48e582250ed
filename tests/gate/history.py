# SPDX-License-Identifier: GPL-2.0-only
"""When each part of everything last ran: the table in tests/README.md, a row for each part, with the commit."""
import dataclasses
import datetime
import subprocess

BEGIN, END = "<!-- tests/run --record -->\n", "<!-- end -->\n"
HEADER = "| part | commit | date | result |\n|---|---|---|---|\n"
WARN_COMMITS = 150


@dataclasses.dataclass(frozen=True)
class Row:
    part: str
    commit: str
    date: str
    result: str

    def line(self):
        return f"| {self.part} | {self.commit} | {self.date} | {self.result} |\n"


def git(tree, *words):
    """What git prints; None if it fails."""
    done = subprocess.run(["git", "-c", "safe.directory=*", *words], cwd=tree, check=False, text=True,
                          capture_output=True)
    return done.stdout.strip() if done.returncode == 0 else None


def read(document):
    """{part: Row} of the table."""
    table = document.read_text().partition(BEGIN)[2].partition(END)[0]
    cells = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in table.splitlines()[2:]]
    return {row[0]: Row(*row) for row in cells}


def record(document, tree, results):
    """Writes the results, {part: text}, of this commit to the table; rows of other parts stay."""
    commit, date = git(tree, "rev-parse", "--short=9", "HEAD"), datetime.date.today().isoformat()
    rows = {**read(document), **{part: Row(part, commit, date, text) for part, text in results.items()}}
    before, _, rest = document.read_text().partition(BEGIN)
    lines = "".join(rows[part].line() for part in sorted(rows))
    document.write_text(before + BEGIN + HEADER + lines + END + rest.partition(END)[2])


def ages(document, tree, parts):
    """A line for each of the parts: how many commits ago it last ran."""
    rows = read(document)
    for part in parts:
        if part not in rows:
            yield f"  {part}: never recorded"
            continue
        row = rows[part]
        count = git(tree, "rev-list", "--count", f"{row.commit}..HEAD")
        if count is None:
            yield f"  {part}: at {row.commit}, which is no commit here"
            continue
        warning = f", WARNING: more than {WARN_COMMITS}" if int(count) > WARN_COMMITS else ""
        yield f"  {part}: {count} commits ago ({row.date}), {row.result}{warning}"
