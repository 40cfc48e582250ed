# SPDX-License-Identifier: GPL-2.0-only
"""`top` as a user has it: on a terminal (tmux), with its keys, beside a living Ruby, a recording, a pipe."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import uuid

import harness
from harness import CORRELATOR, Process, Recording, Workload, await_true, run_correlator

WIDTH, HEIGHT = 120, 30
# Two routes that come again and again, and a name that a terminal would obey.
SERVE = r'''
$threads = [["busy", 4], ["calm", 1], ["\e[2Jodd\u202e", 1]].map do |name, ms|
  Thread.new do
    (1..).each do |n|
      Correlator.with(request_id: "#{name}-#{n}", endpoint: "GET /#{name}") do
        Workload.spin_ms(ms)
        sleep 0.01
      end
    end
  end
end
0
'''.replace("\n", ";").replace("do;", "do ").replace("|;", "| ").strip(";")
WAIT = '$threads << Thread.new { Correlator.with(request_id: "long-1", endpoint: "GET /long") { sleep } }; 0'


class Terminal(contextlib.AbstractContextManager):
    """A command on a terminal of its own, and then what it left of it."""

    def __init__(self, *command, width=WIDTH, height=HEIGHT, environment=""):
        self.socket = f"correlator-{uuid.uuid4().hex}"
        words = " ".join(f"'{word}'" for word in command)
        # What comes after it shows how it left the terminal, which stays.
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height),
                  f"{environment} {words}; echo \"status=$?\"; stty -a; exec cat",
                  ";", "set", "-g", "status", "off", ";", "set", "-g", "window-size", "manual")

    def __exit__(self, *_):
        self.tmux("kill-server", check=False)

    def tmux(self, *words, check=True):
        return subprocess.run(["tmux", "-L", self.socket, *words], check=check, text=True,
                              stdout=subprocess.PIPE, timeout=harness.DEADLINE_SECONDS,
                              env={**os.environ, "TERM": "xterm-256color"}).stdout

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def await_text(self, pattern):
        """The screen, once the pattern is on it."""
        last = ""

        def has_come():
            nonlocal last
            last = self.screen()
            return re.search(pattern, last, re.M)

        try:
            await_true(has_come, pattern)
        except TimeoutError as error:
            raise AssertionError(f"{error}; there is:\n{last}") from None
        return last

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def resize(self, width, height):
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def state(self, name):
        return self.tmux("display-message", "-p", f"#{{{name}}}").strip()

    def pids(self):
        """Of correlator, and of those below it."""
        found = []
        queue = [int(self.state("pane_pid"))]
        while queue:
            pid = queue.pop()
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if pathlib.Path(f"/proc/{pid}/comm").read_text().startswith("correlator"):
                    found.append(pid)
                queue += map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        return found

    def await_end(self, status):
        """It has ended with this status, and left the terminal as it should be."""
        screen = self.await_text(r"status=\d+[\s\S]*extproc")
        assert f"status={status}\n" in screen, screen
        for flag in "echo", "icanon", "isig", "opost", "onlcr":
            assert re.search(rf"(?<![-\w]){flag}\b", screen), (flag, screen)
        assert (self.state("cursor_flag"), self.state("alternate_on")) == ("1", "0")
        return screen


class TopTest(harness.LiveTest):
    def start(self):
        workload = self.enter(Workload("driven.rb", environment={"GROUND_TRUTH": "off"}))
        workload.evaluate(SERVE)
        return workload

    def open(self, *arguments, **options):
        return self.enter(Terminal(CORRELATOR, "top", *arguments, **options))

    def assert_gone(self, pids):
        await_true(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in pids),
                   "the recorder to end")

    def test_keys(self):
        workload = self.start()
        terminal = self.open("-p", workload.pid)
        screen = terminal.await_text(r"cpu▼[\s\S]*GET /busy[\s\S]*GET /calm[\s\S]*^total")
        self.assertIn(r"GET /\x1b[2Jodd\xe2\x80\xae", screen)
        terminal.await_text("residual 0 ns  losses 0  exact  own [0-9]")

        terminal.press("<")  # requests a second
        terminal.await_text("req/s▼")
        terminal.press(">", "r")
        terminal.await_text(r"cpu▲[\s\S]*GET /calm[\s\S]*GET /busy")
        terminal.press("r")
        terminal.await_text(r"cpu▼[\s\S]*GET /busy[\s\S]*GET /calm")

        terminal.press("/")
        terminal.type("CALM")
        terminal.await_text("^only: CALM_")
        terminal.press("Enter")
        screen = terminal.await_text("only CALM")
        self.assertNotIn("GET /busy", screen)
        terminal.press("/", *["BSpace"] * 4)
        terminal.type("endpoint~GET /b*")
        terminal.press("Enter")
        screen = terminal.await_text(r"only endpoint~GET /b\*[\s\S]*GET /busy")
        self.assertNotIn("GET /calm", screen)
        terminal.press("Escape")
        terminal.await_text("GET /calm")

        terminal.press("Home", "Enter")
        terminal.await_text(r"requests of endpoint=GET /busy\n[\s\S]*^busy-\d+ +GET /busy")
        terminal.press("Down", "Enter")
        terminal.await_text(r"the story of busy-\d+\n[\s\S]*█ ran[\s\S]*ms .*█")
        terminal.press("Escape")
        terminal.await_text("requests of endpoint=GET /busy")
        workload.evaluate(WAIT)
        terminal.press("Escape", "2")
        terminal.await_text(r"^long-1 +GET /long +blocked: (futex|poll) +\d")
        terminal.press("3")
        terminal.await_text(rf"^{workload.pid}/{workload.pid} ")
        terminal.press("4")
        terminal.await_text("residual +0 ns  = 0.00 ppm")
        terminal.press("Tab", "g")
        terminal.await_text(r"^pid ")
        terminal.press("?")
        terminal.await_text("any key ends this help")
        terminal.press("q")
        terminal.await_text(r"^pid ")
        pids = terminal.pids()
        self.assertGreater(len(pids), 1)
        terminal.press("q")
        terminal.await_end(0)
        self.assert_gone(pids)

    def test_code(self):
        """Of the endpoint that is selected, and of its request."""
        workload = self.start()
        terminal = self.open("-p", workload.pid, "--stacks=997")
        terminal.await_text(r"GET /busy[\s\S]*^total")
        terminal.press("c")
        screen = terminal.await_text(r"the code of endpoint=GET /busy\n[\s\S]*spin_ms")
        self.assertRegex(screen, r"CPU .*, exact; that of \d+ contexts? is spread over stacks by \d+ samples?")
        terminal.press("Escape", "Enter")
        terminal.await_text(r"^request.*\n *busy-\d+")
        terminal.press("Space", "c")
        terminal.await_text(r"the code of request_id=busy-\d+")
        terminal.press("q")
        terminal.await_end(0)

    def test_freezing(self):
        terminal = self.open("-p", self.start().pid)
        terminal.await_text("GET /calm")
        terminal.press("Space")
        frozen = terminal.await_text("FROZEN, [1-9]")
        terminal.await_text("FROZEN, [0-9]{2}")
        rows = re.search(r"^GET /busy.*$", frozen, re.M)[0]
        self.assertIn(rows, terminal.screen())
        clock = re.search(r"\d\d:\d\d:\d\d", frozen)[0]
        self.assertIn(clock, terminal.screen())
        terminal.press("w", "w")  # all; then a window
        terminal.await_text(r"last [1-9]\d\d\.\d ms")
        terminal.press("Space", "Space", *["["] * 6, *["]"] * 2)
        # Four windows are a second.
        await_true(lambda: re.search(r"\d\d:\d\d:\d\d", terminal.screen())[0] > clock,
                   "a later window")
        terminal.await_text("FROZEN, [4-9]")
        terminal.press("Space")
        await_true(lambda: "FROZEN" not in terminal.screen(), "it to go on")
        terminal.press("q")
        terminal.await_end(0)

    def test_sizes(self):
        terminal = self.open("-p", self.start().pid)
        terminal.await_text("GET /calm")
        terminal.resize(40, 10)
        # A window that ends amid a stint may leave some microseconds to the next one.
        screen = terminal.await_text(r"\A.*\n1 groups 2 in flight 3 threads 4 books$"
                                     r"[\s\S]*^residual 0 ns ")
        self.assertIn("GET /busy", screen)
        terminal.resize(20, 5)
        terminal.await_text(r"\Atoo small:\n40x10 needed$")
        terminal.resize(WIDTH, HEIGHT)
        screen = terminal.await_text(r"\Acorrelator top[\s\S]*GET /calm")
        self.assertEqual(HEIGHT, len(screen.splitlines()))
        terminal.press("q")
        terminal.await_end(0)

    def test_the_targets_end(self):
        workload = self.start()
        terminal = self.open("-p", workload.pid)
        terminal.await_text("GET /calm")
        workload.process.kill()
        workload.wait()
        screen = terminal.await_text("THE TARGET HAS ENDED")
        self.assertIn("GET /busy", screen)
        terminal.press("1")
        terminal.press("Enter")
        terminal.await_text("requests of endpoint=GET /busy")
        terminal.press("q")
        terminal.await_end(0)

    def test_signals(self):
        workload = self.start()
        for end in (lambda terminal, pids: os.kill(pids[0], signal.SIGTERM),
                    lambda terminal, pids: terminal.press("C-c")):
            terminal = self.open("-p", workload.pid)
            terminal.await_text("GET /calm")
            pids = terminal.pids()
            end(terminal, pids)
            terminal.await_end(0)
            self.assert_gone(pids)
        # Nothing can be done then: but the recorder does not stay.
        terminal = self.open("-p", workload.pid)
        terminal.await_text("GET /calm")
        pids = terminal.pids()
        os.kill(pids[0], signal.SIGKILL)
        self.assert_gone(pids)

    def test_a_recorder_that_fails(self):
        result = run_correlator("top", "-p", 4194304)
        self.assertEqual(harness.EXIT_NO_TARGET, result.returncode, result.stderr)
        self.assertIn("4194304", result.stderr)
        self.assertEqual("", result.stdout)
        screen = self.open("-p", 4194304).await_end(harness.EXIT_NO_TARGET)
        self.assertIn("4194304", screen)

    def record(self):
        with Recording(self.output, "-p", self.start().pid, "-k", "request_id", "-k", "endpoint",
                       "-i", "100ms", "-d", "2s") as recording:
            self.assert_ended_well(recording, recording.wait())

    def test_a_recording(self):
        self.record()
        report = run_correlator("report", "--by", "endpoint", self.output).stdout
        result = run_correlator("top", "--batch", "--span", "all", self.output)
        self.assertEqual((0, ""), (result.returncode, result.stderr))
        last = result.stdout.split("\n\n")[-1]
        self.assertEqual(1, result.stdout.count("END OF THE RECORDING"))
        # The first window, one a second later, and the end.
        self.assertIn(result.stdout.count("correlator top"), (3, 4))
        for name in "GET /busy", "GET /calm", "unattributed", "total":
            def figures(text):
                row = re.search(rf"^{name} .*$", text, re.M)[0]
                return re.findall(r"[0-9.]+ (?:s|ms|us|ns)\b", row)

            self.assertEqual(figures(report)[0], figures(last)[0], name)

        terminal = self.open(self.output)
        terminal.await_text("GET /busy")
        terminal.await_text("END OF THE RECORDING")
        terminal.press("2")
        terminal.await_text(r"^(busy|calm)-\d+ ")
        terminal.press("q")
        terminal.await_end(0)

    def test_pipes(self):
        self.record()
        top = f"{CORRELATOR} top --batch {self.output}"
        shell = ["bash", "-c"]
        result = subprocess.run([*shell, f"{top} | head -1; echo ${{PIPESTATUS[0]}}"], text=True,
                                capture_output=True, timeout=harness.DEADLINE_SECONDS)
        self.assertRegex(result.stdout, r"\Acorrelator top .*\n0\n\Z")
        self.assertEqual("", result.stderr)
        result = subprocess.run([*shell, f"{top} > /dev/full"], text=True, capture_output=True,
                                timeout=harness.DEADLINE_SECONDS)
        self.assertEqual(harness.EXIT_FAILURE, result.returncode)
        self.assertIn("cannot write the frames: No space left on device", result.stderr)
        with self.output.open("rb") as recording:
            result = subprocess.run([CORRELATOR, "top", "-n", "1", "-"], stdin=recording, text=True,
                                    capture_output=True, timeout=harness.DEADLINE_SECONDS)
        self.assertEqual((0, ""), (result.returncode, result.stderr))
        self.assertIn("GET /busy", result.stdout)
        # Keys come from the terminal, records from elsewhere.
        terminal = self.enter(Terminal("sh", "-c", f"{CORRELATOR} top {self.output} < /dev/null"))
        terminal.await_text("END OF THE RECORDING")
        terminal.press("q")
        terminal.await_end(0)
        terminal = self.enter(Terminal("sh", "-c", f"cat {self.output} | {CORRELATOR} top -"))
        terminal.await_text("END OF THE RECORDING")
        terminal.press("4")
        terminal.await_text("residual")
        terminal.press("q")
        terminal.await_end(0)

    def test_what_is_no_recording(self):
        other = self.folder / "other"
        other.write_text("hello\n" * 10)
        screen = self.open(other).await_end(harness.EXIT_FAILURE)
        self.assertIn("not a recording of correlator", screen)
        screen = self.open(self.folder / "missing").await_end(harness.EXIT_FAILURE)
        self.assertIn("No such file", screen)
        result = run_correlator("top", "/dev/null")
        self.assertEqual(harness.EXIT_FAILURE, result.returncode)
        self.assertIn("/dev/null: no records to show", result.stderr)
        for wrong in ([], [other, other], [other, "-p", "1"], ["-p", "x"], ["--span", "1h", other],
                      ["--speed", "0", other], ["-n", "0", other], ["--sort", "x", other]):
            result = run_correlator("top", *wrong)
            self.assertEqual((harness.EXIT_USAGE, ""), (result.returncode, result.stdout), wrong)
            self.assertNotEqual("", result.stderr, wrong)
        screen = self.enter(Terminal(CORRELATOR, "top", other, environment="TERM=nonsense")) \
            .await_end(harness.EXIT_FAILURE)
        self.assertIn("the terminal nonsense is not known", screen)


if __name__ == "__main__":
    harness.main("tmux")
