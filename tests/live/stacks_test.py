# SPDX-License-Identifier: GPL-2.0-only
"""`record --stacks`: which code burned it, in which request.

Tolerance: of shares 3 sigma of the sampling error and two points, for what is neither of the places; of
the number of samples 30 %, because a clock that is due while the hypervisor has the CPU comes late.
"""
import collections
import itertools
import json
import math
import pathlib
import re
import subprocess

import harness
import records
from harness import Recording, Workload, run_correlator

KEYS = ("-k", "request_id")
HZ = 997
NS_PER_S = 1_000_000_000
DEFINED_LINE = 1 + (harness.FIXTURES / "stacks.rb").read_text().split("define_method")[0].count("\n")
SHARES = {"seventy": 0.7, "twenty": 0.2, "ten": 0.1}
REQUESTS = ("one", "two", "three")
# For each request whose shares are compared: 3 sigma of a share of a tenth are 4.5 points then.
SAMPLES = 400


def frames_of(found):
    return {record["stack_id"]: record for record in records.of_kind(found, "stack")}


def stack_of(frames, stack_id):
    """Its frames, the innermost first."""
    stack = []
    while stack_id is not None:
        stack.append(frames[stack_id])
        stack_id = frames[stack_id].get("parent_id")
    return stack


def ruby_of(stack):
    """Without the native function that runs, and the kernel's."""
    return [frame for frame in stack if frame["frame_kind"] not in ("native", "kernel")]


def place_of(stack):
    for frame in stack:
        if frame["name"].rpartition("#")[2] in SHARES:
            return frame["name"].rpartition("#")[2]
    return None


def defined_as(label, path, line):
    """Of what define_method() made, Ruby's label is that of the block where it was written."""
    if line == DEFINED_LINE and path.endswith("stacks.rb") and label.startswith("block "):
        label = "block in ten" if "levels" in label else "ten"
    return label, path, line


def located(stack):
    """As Ruby says it: a method in C is where it was called."""
    said, at = [], None
    for frame in reversed(stack):
        at = (frame["file"], frame["line"]) if "file" in frame else at
        said.append((frame["name"], *at))
    return said[::-1]


def known_kernel_names():
    """As /proc/kallsyms has them, those of modules with their module's."""
    with open("/proc/kallsyms", encoding="utf-8") as lines:
        return {" ".join(line.split()[2:]) for line in lines} | {"[bpf]", "[__builtin__ftrace]"}


def stacks_of(found):
    """(request, frames) of each sample."""
    frames = frames_of(found)
    return [(record.get("request_id"), stack_of(frames, record["stack_id"]))
            for record in records.of_kind(found, "sample") for _ in range(record["samples"])]


def made_by(frame):
    """The number of the request whose code it is, of litter.rb's `made`; None of other frames."""
    made = re.fullmatch(r"made (\d+)\.rb", frame.get("file", ""))
    return made and made[1]


def sampled(samples, *requests):
    """Whether each of the requests has more samples than that: of the records so far."""
    def is_enough(found):
        counts = collections.Counter()
        for record in records.of_kind(found, "sample"):
            counts[record.get("request_id")] += record["samples"]
        return all(counts[request] > samples for request in requests)

    return is_enough


def counts_of_places(found):
    """{request: {place, or None: samples}} of the windows after the one in which each place first had its name.

    A method that a collection meets before the recorder has read it has no name in that stack; once read, it keeps its
    name. Where the recorder waits for a CPU the first windows have some methods' names without the others'.
    """
    frames, counts = frames_of(found), collections.defaultdict(collections.Counter)
    named, are_known = set(), False
    for record in found:
        if record["kind"] == "self":  # the last one of a window
            are_known = named >= SHARES.keys()
        if record["kind"] == "sample":
            place = place_of(stack_of(frames, record["stack_id"]))
            named.add(place)
            if are_known:
                counts[record.get("request_id")][place] += record["samples"]
    return counts


def placed(samples, *requests):
    """As sampled(), of samples that counts_of_places() counts."""
    def is_enough(found):
        counts = counts_of_places(found)
        return all(sum(counts[request].values()) > samples for request in requests)

    return is_enough


class Burner(Workload):
    def run(self, is_enough=None):
        """What it says of its places; they are all it says."""
        self.go(is_enough)
        lines = []
        for line in self.process.stdout:
            if line == "done\n":
                return json.loads(lines[0])
            lines.append(line)
        raise RuntimeError("the workload ended in the middle")


class Litterer(Workload):
    def environment(self, changes):
        return super().environment({"GROUND_TRUTH": "off", **(changes or {})})


class Apart(Litterer):
    """In a mount namespace of its own, with debug files that are those beside its library."""

    def command(self, script, *arguments):
        code = 'mkdir -p /usr/lib/debug && mount --bind "$0" /usr/lib/debug && exec "$@"'
        return ["unshare", "--mount", "sh", "-ec", code, arguments[0].parent / "debug",
                *super().command(script, *arguments)]


class StacksTest(harness.LiveTest):
    def record(self, workload, is_enough, *options):
        """The records of a workload that goes on until is_enough(records so far)."""
        self.pid = workload.pid
        with workload, Recording(self.output, "-p", self.pid, *KEYS, f"--stacks={HZ}",
                                 *options) as recording:
            self.said = workload.run(lambda: is_enough(recording.records_so_far()))
            self.assert_ended_well(recording, recording.stop())
        return recording.records()

    def litter(self, is_enough, *arguments):
        """(request, frames) of each sample of litter.rb, as soon as is_enough(these)."""
        return stacks_of(self.record(Litterer("litter.rb", *arguments),
                                     lambda found: is_enough(stacks_of(found))))

    def observe(self, arguments, *options, is_enough=placed(SAMPLES, *REQUESTS)):
        """The records of stacks.rb, as soon as there is_enough()."""
        return self.record(Burner("stacks.rb", *arguments), is_enough, *options)

    def assert_books_agree(self, found):
        books = records.books(found)
        samples = sum(record["samples"] for record in records.of_kind(found, "sample"))
        self.assertEqual(samples, books["samples"])
        self.assertEqual(samples * (NS_PER_S // HZ), books["sampled_ns"])
        # A virtual machine that does not run when its clock is due misses that.
        expected = books["exec_ns"] / (NS_PER_S // HZ)
        self.assertLess(abs(samples - expected), 0.3 * expected + 3 * math.sqrt(expected))
        for name in ("stacks_full", "residual_ns"):
            self.assertEqual(0, books[name], name)
        self.assertLess(books["samples_lost"], 0.01 * samples + 3)

    def assert_shares_are_right(self, found):
        """Of each request, within 3 sigma."""
        accounts = {record.get("request_id") for record in records.of_kind(found, "cpu")}
        self.assertLessEqual({record.get("request_id") for record in records.of_kind(found, "sample")}, accounts)
        counts = counts_of_places(found)
        for request in REQUESTS:
            places = counts[request]
            total = sum(places[place] for place in SHARES)
            # The rest is what calls the three.
            self.assertGreater(total, 0.8 * SAMPLES, (request, places))
            for place, share in SHARES.items():
                sigma = math.sqrt(share * (1 - share) / total)
                self.assertLess(abs(places[place] / total - share), 3 * sigma + 0.02,
                                (request, places))

    def read_stacks(self, *options):
        shown = harness.run_correlator("report", "--stacks", "--format", "json", *options, self.output)
        self.assertEqual((harness.EXIT_OK, ""), (shown.returncode, shown.stderr))
        return json.loads(shown.stdout)

    def assert_reports_agree(self, found):
        """All CPU is spread, to the nanosecond; of a request its methods have their samples' shares."""
        books, shown = records.books(found), self.read_stacks()
        self.assertEqual(books["attributed_ns"] + books["unattributed_ns"], shown["all"]["cpu_ns"])
        self.assertEqual(books["samples"], shown["all"]["samples"])
        self.assertEqual(0, sum(shown["left_out"].values()))
        folded = harness.run_correlator("export", "--format", "folded", self.output)
        self.assertEqual(shown["all"]["cpu_ns"], sum(int(line.rpartition(" ")[2])
                                                     for line in folded.stdout.splitlines()))
        one = self.read_stacks("--where", "request_id=one")
        self.assertEqual(records.totals_by(found)["one"]["cpu_ns"], one["all"]["cpu_ns"])
        totals = {method["name"]: method["total_ns"] for method in one["methods"]}
        stacks = [stack for request, stack in stacks_of(found) if request == "one"]
        self.assertEqual(len(stacks), one["all"]["samples"])
        for place in "seventy", "twenty":
            share = sum(place_of(stack) == place for stack in stacks) / len(stacks)
            self.assertAlmostEqual(share, totals[place] / one["all"]["sampled_cpu_ns"], delta=1e-6)

    def test_shares_of_each_request_and_the_sum_are_right(self):
        found = self.observe([])
        self.assert_books_agree(found)
        self.assert_shares_are_right(found)
        self.assert_reports_agree(found)

    def test_so_they_are_of_contexts_that_are_found_at_boundaries(self):
        found = self.observe([], "--lean")
        self.assert_books_agree(found)
        self.assert_shares_are_right(found)

    def test_short_requests_count_as_much_as_they_use(self):
        """Nine tenths of the CPU are in requests that a sample meets once in ten times."""
        def enough(found):
            return sum(record["samples"] for record in records.of_kind(found, "sample")) > SAMPLES

        found = self.record(Burner("short_requests.rb"), enough, "-k", "endpoint")
        shown = self.read_stacks("--where", "endpoint=GET /mixed")
        self.assertEqual(0, shown["all"]["not_sampled_cpu_ns"])
        methods = {method["name"].rpartition("#")[2]: method for method in shown["methods"]}
        # Neither has the code that begins and ends a request, which is a larger part of a short one.
        both_ns = sum(methods[name]["total_ns"] for name in self.said)
        for name, used_ns in self.said.items():
            share = 100 * used_ns / sum(self.said.values())
            self.assertAlmostEqual(share, 100 * methods[name]["total_ns"] / both_ns, msg=name,
                                   delta=3 * methods[name]["error_percent"] + 2)
        self.assert_one_is_told_by_others(found)

    def assert_one_is_told_by_others(self, found):
        request = next(record["request_id"] for record in records.of_kind(found, "cpu") if record.get("request_id"))
        shown = run_correlator("report", "--request", request, "-f", "json", self.output)
        code = json.loads(shown.stdout)["stacks"]["all"]
        self.assertGreater(code["cpu_ns"], 0)
        self.assertEqual(code["cpu_ns"], code["sampled_cpu_ns"])
        self.assertEqual((1, 1), (code["sampled_contexts"], code["pooled_contexts"]))
        self.assertGreater(code["samples"], 1)

    def test_frames_are_what_ruby_says_they_are(self):
        found = self.observe([], "-i", "200ms")
        frames = frames_of(found)
        stacks = {tuple(located(ruby_of(stack_of(frames, record["stack_id"]))))
                  for record in records.of_kind(found, "sample")
                  if all(frame["frame_kind"] in ("ruby", "c")
                         for frame in ruby_of(stack_of(frames, record["stack_id"])))}
        for place, said in self.said.items():
            said = [defined_as(*frame) for frame in said]
            # Within work() the line is another one.
            self.assertTrue(any(stack[-len(said) + 1:] == tuple(said[1:]) and
                                stack[-len(said)][:2] == said[0][:2]
                                for stack in stacks if len(stack) >= len(said)), (place, said))

    def test_a_deep_stack_is_cut_at_its_root(self):
        found = self.observe(["2000"], is_enough=sampled(50, "deep"))
        frames = frames_of(found)
        deep = [stack_of(frames, record["stack_id"]) for record in records.of_kind(found, "sample")
                if record.get("request_id") == "deep"]
        cut = [stack for stack in deep if stack[-1]["frame_kind"] == "cut"]
        self.assertTrue(cut)
        # In a collection, or in code that has no name, there is one more.
        self.assertLessEqual({len(ruby_of(stack)) for stack in cut}, {1025, 1026})
        # A collection between sample and name leaves frames without one.
        self.assertIn("deep", {frame["name"] for stack in cut for frame in stack})
        self.assertLessEqual({stack[-2]["name"] for stack in cut}, {"deep", "[unknown]"})
        self.assertGreater(records.books(found)["stacks_cut"], 0)

    def test_frames_keep_their_names_while_much_is_collected(self):
        """A collection every few ms, and stacks of 70 frames.

        A stack stays without names if a collection comes before the recorder has read them. That is 1 in
        75 where it gets a CPU at once, 1 in 12 beside two busy loops, where it waits for milliseconds, and 1 in 3 on
        a slow machine beside others.
        """
        samples = self.litter(lambda so_far: len(so_far) > 1000)
        unknown = sum(any(frame["name"] == "[unknown]" for frame in stack) for _, stack in samples)
        self.assertLess(unknown, 0.6 * len(samples))

    def test_code_that_was_collected_lends_its_name_to_none(self):
        """Each request runs code of its own, in a file and at a line that say whose it is."""
        def enough(so_far):
            return sum(made_by(frame) is not None for _, stack in so_far for frame in stack) > 100

        def are_many(found):
            return sum(record["samples"] for record in records.of_kind(found, "sample")) > 100_000

        samples = (stacks_of(self.record(Litterer("litter.rb", "made"), are_many)) if harness.IS_LONG
                   else self.litter(enough, "made"))
        for request, stack in samples:
            for frame in stack:
                made = made_by(frame)
                if made is None:
                    continue
                number = int(made)
                self.assertEqual(request, made, stack)
                # With a pc outside this code, as while a frame is pushed, the line is not known.
                self.assertIn(frame.get("line", number) - number, range(5), stack)
                method = re.search(r"\bm(\d+)$", frame["name"])
                self.assertTrue(not method or int(method[1]) == number % 50, stack)

    def test_in_the_kernel_a_sample_has_the_functions_it_is_in(self):
        """The kernel's share of a request's samples is that of its exact CPU; 5 points are for
        interrupts, which are user time in the books, and the kernel's here. Of short calls much is
        their edges, and a clock that comes due on the way out of the kernel, with interrupts off,
        meets user mode (split_test.py): 4 to 13 points, where traps are dear."""
        found = self.record(Litterer("in_kernel.rb"), sampled(SAMPLES, "zero", "random", "ruby"))
        frames, known = frames_of(found), known_kernel_names()
        totals, samples = records.totals_by(found), collections.defaultdict(list)
        for record in records.of_kind(found, "sample"):
            stack = stack_of(frames, record["stack_id"])
            samples[record.get("request_id")] += [stack] * record["samples"]
            kernel = [frame["name"] for frame in stack if frame["frame_kind"] == "kernel"]
            self.assertLessEqual(set(kernel) - {"[unknown]"}, known)
            # The innermost frames, and nothing else.
            self.assertEqual(kernel, [frame["name"] for frame in stack[:len(kernel)]])
        # Ruby asks for 256 random bytes at a time: much of that is the edges of the calls, and
        # what we do there.
        for request, function, method, least, slack in (
                ("zero", "vfs_read", "read_zeros", 0.75, 0.05),
                ("random", "__x64_sys_getrandom", "ask_for_random", 0.3, 0.2),
                ("ruby", None, None, 0, 0.05)):
            stacks = samples[request]
            met = [stack for stack in stacks if stack[0]["frame_kind"] == "kernel"]
            share = totals[request]["kernel_ns"] / totals[request]["cpu_ns"]
            sigma = math.sqrt(max(share * (1 - share), 0.01) / len(stacks))
            self.assertAlmostEqual(share, len(met) / len(stacks), delta=3 * sigma + slack, msg=request)
            if function:
                self.assertGreater(share, 0.5)
                within = [stack for stack in met if {function, method} <=
                          {frame["name"].replace("arm64", "x64") for frame in stack}]
                self.assertGreater(len(within), least * len(met))
        # A program of another recorder is gone with it, and has no name any more.
        unknown = sum(frame["name"] == "[unknown]" and not outer["name"].startswith("bpf_trace_run")
                      for stacks in samples.values() for stack in stacks
                      for frame, outer in itertools.pairwise(stack) if frame["frame_kind"] == "kernel")
        self.assertLess(unknown, 0.01 * sum(map(len, samples.values())))

    def burn_natively(self, *link, strip=None, workload=None, file="libburns.so", options=()):
        """Of 70 and 30 of 100 in two functions of a library: how often each frame was on top."""
        library = self.folder / "libburns.so"
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-g0", "-o", library, *link,
                        harness.FIXTURES / "burns.c"], check=True)
        if strip:
            strip(library)
        found = self.record((workload or Litterer)("native.rb", library), sampled(SAMPLES, "native"), *options)
        tops = collections.Counter()
        self.below = collections.Counter()
        for request, frames in stacks_of(found):
            stack = [frame for frame in frames if frame["frame_kind"] != "kernel"]
            if (request == "native" and stack[0]["frame_kind"] == "native" and stack[0]["name"] != "[vdso]"
                    and stack[0].get("file") == (file and str(library))):
                tops[stack[0]["name"]] += 1
                self.below[tuple(frame["name"].rpartition("#")[2] for frame in stack[1:])] += 1
                self.assertIn("call", [frame["name"].rpartition("#")[2] for frame in stack])
        return tops

    def strip(self, library):
        """With its debug file as Debian's packages have it, by its build ID."""
        notes = subprocess.run(["readelf", "-n", library], check=True, capture_output=True,
                               text=True).stdout
        number = re.search(r"Build ID: (\w+)", notes)[1]
        folder = self.folder / "debug" / ".build-id" / number[:2]
        folder.mkdir(parents=True)
        subprocess.run(["objcopy", "--only-keep-debug", library, folder / f"{number[2:]}.debug"],
                       check=True)
        subprocess.run(["strip", library], check=True)

    def strip_beside(self, library):
        """With its debug file in .debug beside it, named by the library, which has no build ID."""
        debug = library.parent / ".debug"
        debug.mkdir()
        objcopy = "objcopy", "--remove-section=.note.gnu.build-id"
        subprocess.run([*objcopy, "--only-keep-debug", library, debug / "burns.debug"], check=True)
        subprocess.run([*objcopy, "--strip-all", "--add-gnu-debuglink=.debug/burns.debug", library.name],
                       check=True, cwd=library.parent)

    def assert_natives_are(self, names, tops):
        total = sum(tops[name] for name in names)
        # The rest is what calls the two.
        self.assertGreater(total, 0.97 * sum(tops.values()), tops)
        self.assertGreater(total, 0.8 * SAMPLES)
        for name, share in zip(names, (0.7, 0.3)):
            sigma = math.sqrt(share * (1 - share) / total)
            self.assertAlmostEqual(share, tops[name] / total, delta=3 * sigma + 0.02, msg=tops)

    def test_native_functions_have_their_names_and_shares(self):
        self.assert_natives_are(("burn_seventy", "burn_thirty"), self.burn_natively())
        # And nothing else is between them and the method.
        self.assertEqual({"call"}, {names[0] for names in self.below})

    def test_native_functions_have_their_callers(self):
        """Up to the interpreter: Fiddle gives up the GVL for the call."""
        tops = self.burn_natively(options=["--native-stacks=full"])
        self.assert_natives_are(("burn_seventy", "burn_thirty"), tops)
        whole = sum(count for names, count in self.below.items()
                    if names[0] == "burns" and "ffi_call" in names and "[cut]" not in names)
        self.assertGreater(whole, 0.97 * sum(tops.values()), self.below)

    def test_of_a_library_that_was_deleted_since(self):
        """As a deploy leaves it to servers that run on."""
        library = self.folder / "libburns.so"

        class Deleting(Litterer):
            def run(self, is_enough=None):
                library.unlink()
                return super().run(is_enough)

        tops = self.burn_natively(workload=Deleting)
        self.assertFalse(library.exists())
        self.assert_natives_are(("burn_seventy", "burn_thirty"), tops)

    def test_of_a_stripped_library_those_that_it_exports_have(self):
        self.assert_natives_are(("burn_seventy", "burn_thirty"), self.burn_natively(strip=self.strip))

    def test_what_was_stripped_is_found_where_the_process_has_it(self):
        """In a mount namespace of its own; the functions are not exported."""
        self.assert_natives_are(("burn_seventy", "burn_thirty"),
                                self.burn_natively("-DHIDDEN", strip=self.strip, workload=Apart))

    def test_so_it_is_beside_the_library(self):
        self.assert_natives_are(("burn_seventy", "burn_thirty"),
                                self.burn_natively("-DHIDDEN", strip=self.strip_beside))

    def test_a_debug_file_of_another_build_names_nothing(self):
        debug = self.folder / "debug"

        class Altered(Apart):
            def start(self):
                """What is at the name of its build ID has another one."""
                file, = debug.rglob("*.debug")
                bytes_ = file.read_bytes()
                number = bytes.fromhex(file.parent.name + file.stem)
                assert number in bytes_
                file.write_bytes(bytes_.replace(number, number[::-1]))

        tops = self.burn_natively("-DHIDDEN", strip=self.strip, workload=Altered)
        # What calls the two is exported, and seldom met.
        self.assertLessEqual({name.partition("+")[0] for name in tops}, {"libburns.so", "burns"})
        self.assertLess(tops["burns"], 0.03 * sum(tops.values()))

    def test_names_of_cpp_and_rust_are_written_as_in_source(self):
        self.assert_natives_are(("place::burn_seventy(int)", "<shop::Cart>::burn_thirty"),
                                self.burn_natively("-Dburn_seventy=_ZN5place12burn_seventyEi",
                                                   "-Dburn_thirty=_RNvMCs1234_4shopNtB2_4Cart11burn_thirty"))

    def test_generated_code_has_the_names_that_the_process_gives(self):
        class Generating(Litterer):
            def __exit__(self, *error):
                pathlib.Path(f"/tmp/perf-{self.pid}.map").unlink(missing_ok=True)
                super().__exit__(*error)

        self.assert_natives_are(("generated seventy", "generated thirty"),
                                self.burn_natively("-DGENERATED", workload=Generating, file=None))

    def test_libraries_of_rubys_own_extensions_have_their_shares(self):
        """As much as the thread's clock says, within 3 sigma and a point for the clock's own calls; and nearly
        all samples of a call are in its library, in copies of memory for it, or in the kernel, as at the first use of
        memory: the rest is Ruby itself."""
        libraries = {"in_zlib": "libz.so", "in_openssl": "libcrypto.so", "in_digest": "sha2.so"}
        found = self.record(Burner("libraries.rb"), sampled(3 * SAMPLES, "libraries"), "--native-stacks=full")
        within = collections.defaultdict(list)
        for request, stack in stacks_of(found):
            for name in {frame["name"].rpartition("#")[2] for frame in stack} & libraries.keys():
                within[name].append(stack)
        total, used_ns = sum(map(len, within.values())), sum(self.said.values())
        self.assertEqual(libraries.keys(), within.keys())
        for name, library in libraries.items():
            share = self.said[name] / used_ns
            sigma = math.sqrt(share * (1 - share) / total)
            self.assertAlmostEqual(share, len(within[name]) / total, delta=3 * sigma + 0.01, msg=name)
            # Once the rules of most of these functions are read, which takes a while on a slow machine.
            late = within[name][len(within[name]) // 2:]
            outside = [[frame for frame in stack if frame["frame_kind"] != "kernel"] for stack in late]
            met = [stack for stack in outside
                   if pathlib.Path(stack[0].get("file", "")).name.startswith((library, "libc.so"))]
            self.assertGreater(len(met), 0.9 * len(late), name)
            cut = [stack for stack in late if "cut" in {frame["frame_kind"] for frame in stack}]
            self.assertLess(len(cut), 0.3 * len(late) + 3, name)
            # An assembler's function, which keeps its caller's frame below the stack.
            if name == "in_openssl":
                called = [stack for stack in outside if stack[1]["name"] == "SHA512_Update"]
                self.assertGreater(len(called), 0.6 * len(outside))

    def test_functions_without_a_name_are_told_apart_by_where_they_begin(self):
        tops = self.burn_natively("-DHIDDEN", strip=self.strip)
        symbols = subprocess.run(["objdump", "-d", "--no-show-raw-insn", self.folder / "libburns.so"],
                                 check=True, capture_output=True, text=True).stdout
        names = sorted(tops, key=tops.get, reverse=True)
        # But for what calls the two, which is exported.
        for name in set(names) - {"burns"}:
            library, _, start = name.partition("+0x")
            self.assertEqual("libburns.so", library)
            self.assertRegex(symbols, rf"(?m)^ +{start}:")
        self.assert_natives_are(names[:2], tops)

    def test_without_native_stacks_there_are_none(self):
        found = self.observe([], "--native-stacks=off", is_enough=sampled(50, *REQUESTS))
        frames = records.of_kind(found, "stack")
        self.assertLessEqual({frame["name"] for frame in frames if frame["frame_kind"] == "native"},
                             {"[no Ruby]"})
        self.assertIn("ruby", {frame["frame_kind"] for frame in frames})

    def test_of_a_process_that_is_no_ruby_it_is_said_so(self):
        with Recording(self.output, *KEYS, "-i", "200ms", "--stacks=997", "--native-stacks=full", "--", "sh", "-c",
                       "i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done") as recording:
            recording.wait()
        found = recording.records()
        frames, native, whole = frames_of(found), 0, 0
        for record in records.of_kind(found, "sample"):
            stack = stack_of(frames, record["stack_id"])
            self.assertEqual("[no Ruby]", stack[-1]["name"])
            self.assertLessEqual({frame["frame_kind"] for frame in stack[:-1]},
                                 {"kernel", "native", "unknown", "cut"})
            # Before its libraries are loaded, and when it has ended, what was where is not known; until the rules of
            # a function are read, nor are its callers.
            native += record["samples"] * any(frame["frame_kind"] == "native" for frame in stack)
            whole += record["samples"] * any(frame["name"].startswith("__libc_start") for frame in stack)
        self.assertGreater(native, 0.5 * records.books(found)["samples"])
        self.assertGreater(whole, 0.75 * native)
        self.assertEqual(0, records.books(found)["frames_early"])

    def test_forked_children_have_frames_from_the_start(self):
        found = self.observe(["0", "fork"], is_enough=sampled(50, "child"))
        frames = frames_of(found)
        names = {frame["name"] for record in records.of_kind(found, "sample")
                 if record["pid"] != self.pid and record.get("request_id") == "child"
                 for frame in stack_of(frames, record["stack_id"])}
        self.assertLessEqual({"seventy", "request"}, names)


if __name__ == "__main__":
    harness.main()
