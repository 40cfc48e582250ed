# SPDX-License-Identifier: GPL-2.0-only
"""
How the exact time is spread over stacks, by the README's rule ("Stacks"), in fractions.

A part is what a request has with the same keys, or what ran in no request with the same keys. It is long where it has
as much CPU as eight samples stand for; then its CPU is spread over its own samples. The CPU of the short parts of one
endpoint is spread over all their samples; where they have none, over those of its long parts. Waits have their own
time: what no stack was told of is in [unknown] where the part has a stack, else in none.
"""
import collections
import fractions

import rule
from figures import shown

UNKNOWN = ("[unknown]", None, None, "unknown")
LONG_SAMPLES = 8


class Frames:
    """The methods of a recording by the ids of frames. A method is a name, a file, its first line and a kind."""

    def __init__(self, recording):
        self.told = {}
        for record in recording.of_kind("stack"):
            self.told.setdefault(record.fields["stack_id"], record.fields)

    def method(self, identity):
        fields = self.told.get(identity)
        if not fields:
            return UNKNOWN
        return shown(fields["name"]), fields.get("file"), fields.get("first_line"), fields["frame_kind"]

    def chain(self, identity, is_waits):
        """The innermost first. Of waits without the kernel's frames, in which all of them end."""
        methods = [self.method(identity)]
        while identity in self.told and "parent_id" in self.told[identity]:
            identity = self.told[identity]["parent_id"]
            methods.append(self.method(identity))
        while is_waits and methods[0][3] == "kernel" and len(methods) > 1:
            del methods[0]
        return methods


def weigh(record, is_waits):
    """How many samples or waits, and the time that they stand for."""
    if is_waits:
        return record.count("waits") or 0, (record.count("blocked_ns") or 0) + (record.count("run_queue_ns") or 0)
    samples = record.count("samples") or 0
    return samples, samples * (record.count("period_ns") or 1)


def spent_ns(record, is_waits):
    costs = rule.Costs(record).sums
    return costs["blocked_ns"] + costs["run_queue_ns"] if is_waits else costs["cpu_ns"]


class Part:
    def __init__(self, pool):
        self.pool = pool
        self.spent_ns = self.samples = 0
        self.stacks = collections.Counter()  # by the id of the frame: what its samples stand for

    def take(self, record, is_waits):
        if record.kind == "cpu":
            self.spent_ns += spent_ns(record, is_waits)
            return
        samples, weight_ns = weigh(record, is_waits)
        if weight_ns:
            self.samples += samples
            self.stacks[record.fields["stack_id"]] += weight_ns

    def add_untold(self):
        """None is the id of what no record tells of."""
        told_ns = sum(self.stacks.values())
        if self.stacks and told_ns < self.spent_ns:
            self.stacks[None] += self.spent_ns - told_ns


def find_parts(chosen, is_waits):
    parts = {}
    for record in [record for record in chosen.records if record.kind in ("cpu", "sample")]:
        keys = {key: value for key, value in record.values.items() if key not in rule.WHAT_RAN}
        kind = "request" if record.request else record.attribution
        identity = kind, record.request, frozenset(keys.items())
        parts.setdefault(identity, Part((kind, keys.get("endpoint")))).take(record, is_waits)
    for part in parts.values() if is_waits else ():
        part.add_untold()
    return list(parts.values())


def distribute(sum_ns, stacks, into):
    for identity, weight_ns in stacks.items():
        into[identity] += fractions.Fraction(sum_ns * weight_ns, sum(stacks.values()))


def spread(parts, is_waits):
    """{id of the frame: ns}, and what is in no stack."""
    found, unknown_ns = collections.defaultdict(fractions.Fraction), 0
    samples = sum(part.samples for part in parts)
    period_ns = sum(sum(part.stacks.values()) for part in parts) // (samples or 1)
    pools = collections.defaultdict(list)
    for part in parts:
        if part.stacks and (is_waits or part.spent_ns >= LONG_SAMPLES * period_ns):
            distribute(part.spent_ns, part.stacks, found)
            pools[part.pool].append((part, True))
        else:
            pools[part.pool].append((part, False))
    for pool in pools.values():
        short_ns = sum(part.spent_ns for part, is_long in pool if not is_long)
        stacks = add_up(part for part, is_long in pool if not is_long) or add_up(part for part, _ in pool)
        if stacks and not is_waits:
            distribute(short_ns, stacks, found)
        else:
            unknown_ns += short_ns
    return found, unknown_ns


def add_up(parts):
    stacks = collections.Counter()
    for part in parts:
        stacks.update(part.stacks)
    return stacks


def methods_of(recording, chosen, is_waits):
    """{method: [self, total]} in ns, what is in no stack, and how many samples there are."""
    parts, frames = find_parts(chosen, is_waits), Frames(recording)
    found, unknown_ns = spread(parts, is_waits)
    methods = collections.defaultdict(lambda: [0, 0])
    for identity, ns in found.items():
        chain = frames.chain(identity, is_waits)
        methods[chain[0]][0] += ns
        for method in set(chain):
            methods[method][1] += ns
    return methods, unknown_ns, sum(part.samples for part in parts)


def nowhere(is_waits):
    """The one frame of what is in no stack."""
    return ("[in no stack]" if is_waits else "[not sampled]",)


def stacks_of(recording, chosen, is_waits, name_of):
    """{names, the outermost first: ns} of each stack, and of what is in none."""
    frames = Frames(recording)
    found, unknown_ns = spread(find_parts(chosen, is_waits), is_waits)
    stacks = collections.Counter()
    for identity, ns in found.items():
        stacks[tuple(name_of(method) for method in frames.chain(identity, False)[::-1])] += ns
    stacks[nowhere(is_waits)] += unknown_ns
    return {names: ns for names, ns in stacks.items() if ns}
