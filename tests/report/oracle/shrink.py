# SPDX-License-Identifier: GPL-2.0-only
"""
Makes a recording small that something fails with, and simple what is asked of it.

Entries go in halves, quarters and so on, and then fields; numbers become small. What is left fails still.
"""
import dataclasses
import time

# Fields that a reader needs; keys lists the recorded keys.
NEEDED = {"schema", "kind", "record_id", "host_name", "pid", "window_ns", "cpu_ns", "tid", "keys", "stack_id", "name",
          "frame_kind"}
# Numbers that are no costs.
PLACES = {"pid", "tid", "first_ns", "last_ns", "start_ns", "end_ns", "window_ns", "clock_set_ns"}
LARGE = 1000


class Shrinker:
    """fails(question, files): whether it is the same failure. It ends after so many seconds."""

    def __init__(self, fails, seconds):
        self.fails = fails
        self.deadline = time.monotonic() + seconds

    def is_over(self):
        return time.monotonic() > self.deadline

    def shrink(self, question, files):
        """The question and the files that are left."""
        question, files = self.merge(question, files)
        files = self.drop_entries(question, files)
        question = self.simplify(question, files)
        files = self.drop_entries(question, files)
        files = self.drop_fields(question, files)
        files = self.lessen(question, files)
        return self.simplify(question, files), self.drop_entries(question, files)

    def try_files(self, question, files):
        return not self.is_over() and any(files) and self.fails(question, [entries for entries in files if entries])

    def merge(self, question, files):
        """Two files become one, and relative times absolute: they hold when the first entries go."""
        one = [[entry for entries in files for entry in entries]]
        if len(files) > 1 and self.try_files(question, one):
            files = one
        begin_ns = files[0][0][0]
        for name in ("since", "until"):
            limit = getattr(question, name)
            if limit and limit[0] == "relative":
                other = dataclasses.replace(question, **{name: ("absolute", begin_ns + limit[1])})
                question = other if self.try_files(other, files) else question
        return question, files

    def simplify(self, question, files):
        for simpler in question.simpler():
            if self.try_files(simpler, files):
                return self.simplify(simpler, files)
        return question

    def drop_entries(self, question, files):
        places = [(number, at) for number, entries in enumerate(files) for at in range(len(entries))]
        size = len(places)
        while size >= 1 and not self.is_over():
            begin = 0
            while begin < len(places):
                kept = [place for place in places[begin:begin + size] if is_meta(files, place)]
                left = places[:begin] + kept + places[begin + size:]
                if len(left) < len(places) and self.try_files(question, pick(files, left)):
                    places = left
                    begin += len(kept)
                else:
                    begin += size
            size //= 2
        return [entries for entries in pick(files, places) if entries]

    def drop_fields(self, question, files):
        """First of all entries of a kind, then of single ones."""
        for kind, name in sorted({(fields["kind"], name) for entries in files for _, fields in entries
                                  for name in fields}):
            files = self.edit(question, files, name, lambda fields, of=kind: fields["kind"] == of, None)
        for entry in [fields for entries in files for _, fields in entries]:
            for name in list(entry):
                files = self.edit(question, files, name,
                                  lambda fields, of=entry["record_id"]: fields["record_id"] == of, None)
        return files

    def edit(self, question, files, name, is_meant, value):
        """With a field gone (None) or of another value, where that fails still."""
        if name in NEEDED and value is None:
            return files
        other = [[(wall_ns, change(fields, name, value) if is_meant(fields) and name in fields else fields)
                  for wall_ns, fields in entries] for entries in files]
        return other if other != files and self.try_files(question, other) else files

    def lessen(self, question, files):
        """Costs become numbers that one can add up by heart."""
        number = 0
        for fields in [fields for entries in files for _, fields in entries
                       if fields["kind"] in ("cpu", "syscall", "io", "stall")]:
            for name in [name for name, value in fields.items() if type(value) is int and value > LARGE]:
                if name in PLACES:
                    continue
                number += 1
                files = self.edit(question, files, name,
                                  lambda found, of=fields["record_id"]: found["record_id"] == of, 2 ** number)
        return files


def is_meta(files, place):
    """Without it a recording is none that was ever written."""
    return files[place[0]][place[1]][1]["kind"] == "meta"


def pick(files, places):
    return [[entries[at] for number, at in places if number == of] for of, entries in enumerate(files)]


def change(fields, name, value):
    rest = {other: old for other, old in fields.items() if other != name}
    return rest if value is None else fields | {name: value}
