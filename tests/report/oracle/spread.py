# SPDX-License-Identifier: GPL-2.0-only
"""
How the exact time is spread over stacks, by the README's rule ("Stacks"), in fractions.

A part is what a request has with the same keys, or what ran in no request with the same keys. It is long where it has
as much CPU as eight samples stand for; then its CPU is spread over its own samples. The CPU of the chosen short parts of
one endpoint is spread over all their samples, if they are long together; else over those of all its short parts of the
same window, chosen or not, if these are long together; else over those of all its short parts, and where they have
none, of its long parts. Waits have their own time: what no stack was told of is in [unknown] where the part has a
stack, else in none.
"""
import collections
import dataclasses
import fractions
import math

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


@dataclasses.dataclass(eq=False)
class Place:
    """One thread of a part in one stack."""
    frame: str | None  # id of the innermost; None: what no record tells of
    weight_ns: int = 0  # what its samples stand for
    samples: int = 0
    spent_ns: fractions.Fraction = fractions.Fraction(0)


class Part:
    def __init__(self, pool, is_chosen):
        self.pool = pool
        self.is_chosen = is_chosen
        self.spent_ns = self.window_ns = 0
        self.places = {}

    def take(self, record, is_waits):
        if record.kind == "cpu":
            self.spent_ns += spent_ns(record, is_waits)
            self.window_ns = max(self.window_ns, record.wall_ns)
            return
        samples, weight_ns = weigh(record, is_waits)
        if weight_ns:
            key = record.fields["stack_id"], record.fields["pid"], record.fields.get("tid")
            place = self.places.setdefault(key, Place(key[0]))
            place.weight_ns += weight_ns
            place.samples += samples

    def add_untold(self):
        told_ns = sum(place.weight_ns for place in self.places.values())
        if self.places and told_ns < self.spent_ns:
            self.places[None] = Place(None, self.spent_ns - told_ns)


def find_parts(chosen, is_waits):
    """Also those that are not chosen; their waits say nothing of others."""
    parts, are_chosen = {}, set(chosen.records)
    for record in chosen.records if is_waits else chosen.recording.activity:
        if record.kind not in ("cpu", "sample"):
            continue
        keys = {key: value for key, value in record.values.items() if key not in rule.WHAT_RAN}
        kind, is_chosen = "request" if record.request else record.attribution, record in are_chosen
        identity = kind, record.request, frozenset(keys.items()), is_chosen
        parts.setdefault(identity, Part((kind, keys.get("endpoint")), is_chosen)).take(record, is_waits)
    for part in parts.values() if is_waits else ():
        part.add_untold()
    return list(parts.values())


def places_of(parts):
    return [place for part in parts for place in part.places.values()]


def distribute(sum_ns, places):
    all_ns = sum(place.weight_ns for place in places)
    for place in places:
        place.spent_ns += fractions.Fraction(sum_ns * place.weight_ns, all_ns)


class Spread:
    """All that is chosen, over the places of its parts, or of those that stand for them."""

    def __init__(self, chosen, is_waits):
        parts = find_parts(chosen, is_waits)
        places = places_of(parts)
        period_ns = sum(place.weight_ns for place in places) // (sum(place.samples for place in places) or 1)
        self.long_ns = 0 if is_waits else LONG_SAMPLES * period_ns
        self.unknown_ns = 0
        self.shown = {part: None for part in parts if part.is_chosen}
        pools = collections.defaultdict(lambda: ([], []))
        for part in parts:
            pools[part.pool][0 if part.places and part.spent_ns >= self.long_ns else 1].append(part)
        for long, short in pools.values():
            self.spread_pool(long, short, is_waits)
        self.places = places_of(self.shown)
        self.samples = sum(place.samples for place in self.places)
        self.sampled_ns = sum(part.spent_ns for part in parts if part.is_chosen) - self.unknown_ns

    def spread_pool(self, long, short, is_waits):
        for part in long:
            if part.is_chosen:
                distribute(part.spent_ns, list(part.places.values()))
        waiting = {part for part in short if part.is_chosen}
        self.borrow(waiting, waiting, self.long_ns)
        for window_ns in {part.window_ns for part in waiting}:
            lenders = [part for part in short if part.window_ns == window_ns]
            self.borrow(waiting, lenders, self.long_ns, window_ns)
        self.borrow(waiting, short)
        self.borrow(waiting, [] if is_waits else long)
        self.unknown_ns += sum(part.spent_ns for part in waiting)

    def borrow(self, waiting, lenders, least_ns=0, window_ns=None):
        """What waits, of this window or of all, is spread over the places of the lenders, and waits no more."""
        borrowers = {part for part in waiting if window_ns in (None, part.window_ns)}
        places = places_of(lenders)
        if borrowers and places and sum(part.spent_ns for part in lenders) >= least_ns:
            distribute(sum(part.spent_ns for part in borrowers), places)
            self.shown |= dict.fromkeys(lenders)
            waiting -= borrowers

    def error_percent(self, ns):
        """The standard error of a share: as many independent samples as these weigh, and two more of each kind."""
        squares = sum(place.spent_ns ** 2 / max(place.samples, 1) for place in self.places)
        if not squares:
            return 100
        count = float(self.sampled_ns ** 2 / squares)
        middle = (float(ns / self.sampled_ns) * count + 2) / (count + 4)
        return 100 * math.sqrt(middle * (1 - middle) / (count + 4))


def methods_of(recording, spread, is_waits):
    """{method: [self, total]} in ns."""
    frames, methods = Frames(recording), collections.defaultdict(lambda: [0, 0])
    for place in spread.places:
        chain = frames.chain(place.frame, is_waits)
        methods[chain[0]][0] += place.spent_ns
        for method in set(chain):
            methods[method][1] += place.spent_ns
    return methods


def nowhere(is_waits):
    """The one frame of what is in no stack."""
    return ("[in no stack]" if is_waits else "[not sampled]",)


def stacks_of(recording, chosen, is_waits, name_of):
    """{names, the outermost first: ns} of each stack, and of what is in none."""
    frames, spread, stacks = Frames(recording), Spread(chosen, is_waits), collections.Counter()
    for place in spread.places:
        stacks[tuple(name_of(method) for method in frames.chain(place.frame, False)[::-1])] += place.spent_ns
    stacks[nowhere(is_waits)] += spread.unknown_ns
    return {names: ns for names, ns in stacks.items() if ns}
