# SPDX-License-Identifier: GPL-2.0-only
"""A recording that is asked, again and again, whom it has found."""
import re

import soak_path  # noqa: F401
import harness


class FindingRecording(harness.Recording):
    FOUND = re.compile(r"found process (\d+) ")

    def __init__(self, *arguments, **options):
        self.found = set()
        super().__init__(*arguments, **options)

    def read_messages(self):
        for line in self.process.stderr:
            found = self.FOUND.search(line)
            with self.changed:
                self.lines.append(line)
                if found:
                    self.found.add(int(found[1]))
                self.changed.notify_all()
        with self.changed:
            self.lines.append("")
            self.changed.notify_all()

    def await_found(self, pid):
        """Once for each."""
        with self.changed:
            if not self.changed.wait_for(lambda: pid in self.found, harness.DEADLINE_SECONDS):
                raise TimeoutError(f"process {pid} was not found: {''.join(self.lines[-10:])}")
            self.found.discard(pid)
