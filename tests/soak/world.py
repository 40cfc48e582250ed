# SPDX-License-Identifier: GPL-2.0-only
"""What goes on around the daemon: deploys, hostile processes, collectors that die and return."""
import contextlib
import json
import random
import shutil
import socket
import subprocess
import threading

import soak_path  # noqa: F401
import acking
import harness

GEM = harness.BUILD / "ruby" / "lib"
ATTACKS = ("malformed", "values", "flipping", "ids", "symbols")


class Actor(threading.Thread):
    """Does something until it is told to stop; what went wrong in it is raised by finish()."""

    def __init__(self, seed):
        super().__init__(daemon=True)
        self.random = random.Random(seed)
        self.stopped = threading.Event()
        self.error = None

    def run(self):
        try:
            self.act()
        except Exception as error:  # pylint: disable=broad-except
            self.error = error

    def pause(self, seconds):
        """True if it is to go on."""
        return not self.stopped.wait(seconds)

    def finish(self):
        self.stopped.set()
        self.join(harness.DEADLINE_SECONDS)
        if self.is_alive():
            raise TimeoutError(f"{self} does not end")
        if self.error:
            raise self.error


class Deploy(threading.Thread):
    """A release, with files of its own: new inodes, which are gone before it ends or after."""

    KILLED_OF = 10  # one in so many is killed in the middle

    def __init__(self, folder, name, daemon, seed):
        super().__init__(daemon=True)
        self.folder = folder / name
        self.name = name
        self.observer = daemon
        self.random = random.Random(seed)
        self.truth = {}  # request_id: (least_ns, most_ns)
        self.is_killed = self.random.randrange(self.KILLED_OF) == 0
        self.error = None

    def run(self):
        try:
            shutil.copytree(GEM, self.folder)
            self.serve()
        except Exception as error:  # pylint: disable=broad-except
            self.error = error
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def serve(self):
        command = ["ruby", "-I", self.folder, harness.FIXTURES / "deploy.rb", self.name,
                   self.random.randint(5, 25), self.random.randint(0, 3), self.random.randint(0, 2),
                   self.random.randrange(1 << 30)]
        with harness.Process(command, text=True, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE) as process:
            stream = process.process.stdout
            if stream.readline() != f"ready {process.pid}\n":
                raise RuntimeError(f"{self.name} does not start")
            self.observer.await_found(process.pid)
            if self.random.randrange(2):
                shutil.rmtree(self.folder)
            process.process.stdin.write("go\n")
            process.process.stdin.flush()
            self.listen(process, stream)

    def listen(self, process, stream):
        last = self.random.randrange(40) if self.is_killed else None
        for number, line in enumerate(stream):
            if line == "done\n":
                break
            request = json.loads(line)
            self.truth[request["request_id"]] = request["least_ns"], request["most_ns"]
            if number == last:
                process.process.kill()


class Deploys(Actor):
    """A new one each second, while not too many live."""

    ALIVE_MAX = 12

    def __init__(self, folder, daemon, seed):
        super().__init__(seed)
        self.folder = folder
        self.observer = daemon
        self.all = []

    def act(self):
        while self.pause(1):
            if sum(deploy.is_alive() for deploy in self.all) < self.ALIVE_MAX:
                self.all.append(Deploy(self.folder, f"d{len(self.all)}", self.observer,
                                       self.random.random()))
                self.all[-1].start()
        for deploy in self.all:
            deploy.join(harness.DEADLINE_SECONDS)
            if deploy.error:
                raise RuntimeError(f"{deploy.name}: {deploy.error!r}") from deploy.error


class Hostiles(Actor):
    """One a minute, for a few seconds."""

    def __init__(self, seed, apart_seconds=60):
        super().__init__(seed)
        self.apart_seconds = apart_seconds
        self.pids = []

    def act(self):
        while self.pause(self.apart_seconds):
            with harness.Process([harness.BUILD / "fixtures/hostile", self.random.choice(ATTACKS)],
                                 text=True, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE) as process:
                self.pids.append(process.pid)
                process.process.stdout.readline()
                process.process.stdin.write("\n")
                process.process.stdin.flush()
                self.pause(5)


class Collector(Actor):
    """Takes what comes at its address, keeps it in the ledger, dies at any moment, and returns."""

    def __init__(self, ledger, seed):
        super().__init__(seed)
        self.ledger = ledger
        self.lives = 0
        self.lasts = threading.Event()  # it dies no more
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.address = listener.getsockname()

    @property
    def url(self):
        return f"tcp://{self.address[0]}:{self.address[1]}"

    def act(self):
        goes_on = True
        while goes_on:
            with Mortal(self.address, self.ledger.take) as server:
                self.lives += 1
                thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
                thread.start()
                goes_on = self.pause(self.random.uniform(5, 30))
                if self.lasts.is_set():
                    self.stopped.wait()
                    goes_on = False
                server.die()
                thread.join()
            goes_on = goes_on and self.pause(self.random.uniform(1, 15))


class Mortal(acking.Collector):
    """Its connections end with it."""

    def __init__(self, address, keep):
        self.connections = set()
        super().__init__(address, keep)

    def process_request(self, request, client_address):
        self.connections.add(request)
        super().process_request(request, client_address)

    def die(self):
        self.shutdown()
        self.server_close()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class Scraper(Actor):
    """Reads the metrics every now and then, as monitoring does."""

    def __init__(self, path, seed):
        super().__init__(seed)
        self.path = path
        self.scrapes = 0

    def act(self):
        while self.pause(2):
            if not self.scrape().rstrip().endswith("# EOF"):
                raise RuntimeError("metrics without an end")
            self.scrapes += 1

    def scrape(self):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(harness.DEADLINE_SECONDS)
            connection.connect(str(self.path))
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: correlator\r\n"
                               b"Accept: application/openmetrics-text\r\n"
                               b"Connection: close\r\n\r\n")
            parts = []
            while part := connection.recv(1 << 16):
                parts.append(part)
        return b"".join(parts).decode()
