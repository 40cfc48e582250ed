# SPDX-License-Identifier: GPL-2.0-only
"""Two recordings that are compared: of the second one a question has the seed. Each is one file."""
import generator
import rule


def merge(files):
    return [[entry for entries in files for entry in entries]]


def other_files(question):
    return merge(generator.make(question.other))


def read_other(question):
    """The second recording, in the same span of time, and what the question chooses of it."""
    recording = rule.Recording(other_files(question), question.since, question.until)
    return recording, recording.select(question.where)
