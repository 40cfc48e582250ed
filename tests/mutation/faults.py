# SPDX-License-Identifier: GPL-2.0-only
"""Where a fault can be planted in a C file, and which: by its words, not by what they mean.

Only in the bodies of functions, and not where they are for machines of another kind: none of that
is compiled here. What does not compile with a fault is none: that is for the compiler.
"""
import dataclasses
import platform
import re

WORD = re.compile(r"""
    (?P<skip>\s+|/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:[^\n\\]|\\.)*)
  | (?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  | (?P<number>\d(?:[\w.]|[eEpP][+-])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<sign><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
""", re.DOTALL | re.MULTILINE | re.VERBOSE)

COMPARISONS = {"==": "!=", "!=": "==", "<": ">=", ">": "<=", "<=": ">", ">=": "<"}
BOUNDARIES = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "&": "|",
              "|": "&", "^": "&", "+=": "-=", "-=": "+=", "++": "--", "--": "++", "|=": "&=",
              "&=": "|="}
LOGIC = {"&&": "||", "||": "&&"}
# Where a statement ends early.
JUMPS = ("return", "break", "continue", "goto")
KEYWORDS = frozenset(JUMPS + ("if", "else", "for", "while", "do", "switch", "case", "default",
                              "sizeof", "typeof", "__typeof__"))
TYPES = frozenset("void char short int long signed unsigned float double bool const static struct "
                  "enum union volatile register extern _Static_assert _Atomic _Thread_local "
                  "LIBBPF_OPTS asm".split())
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?P<name>ifdef|ifndef|if|elif|else|endif)\b(?P<rest>[^\n]*)",
                       re.MULTILINE)
# By which macros code is for a kind of machine, as platform.machine() calls it.
MACHINES = {"__x86_64__": "x86_64", "__TARGET_ARCH_x86": "x86_64",
            "__aarch64__": "aarch64", "__TARGET_ARCH_arm64": "aarch64"}
# A value ends with one of these: what comes next stands between two.
ENDS_VALUE = (")", "]", "++", "--")


@dataclasses.dataclass(frozen=True)
class Fault:
    file: str
    line: int
    column: int
    kind: str
    start: int
    end: int
    text: str  # in the place of what is from start to end

    @property
    def name(self):
        return f"{self.file}:{self.line}:{self.column}:{self.kind}"

    def plant(self, source):
        return source[:self.start] + self.text + source[self.end:]

    def lines(self, source):
        """The statement's lines as they are and as they become, without the white space."""
        first = source.rfind("\n", 0, self.start) + 1
        last = source.find("\n", self.end)
        last = len(source) if last < 0 else last
        planted = self.plant(source)
        return (squeeze(source[first:last]),
                squeeze(planted[first:last + len(planted) - len(source)]))


@dataclasses.dataclass(frozen=True)
class Word:
    kind: str
    text: str
    start: int

    @property
    def end(self):
        return self.start + len(self.text)

    def ends_value(self):
        return (self.kind in ("number", "text") or self.text in ENDS_VALUE or
                self.kind == "name" and self.text not in KEYWORDS)


def squeeze(text):
    return " ".join(text.split())


def split_words(source, machine):
    foreign = foreign_parts(source, machine)
    return [Word(match.lastgroup, match.group(), match.start())
            for match in WORD.finditer(source) if match.lastgroup != "skip" and
            not any(start < match.start() < end for start, end in foreign)]


def foreign_parts(source, machine):
    """(start, end) of each part that is for machines of another kind."""
    parts, open_ones = [], []
    for match in DIRECTIVE.finditer(source):
        name = match["name"]
        if name.startswith("if"):
            open_ones.append(Branch(match.end(), is_for(name, match["rest"], machine)))
            continue
        if not open_ones:
            continue
        branch = open_ones.pop()
        if branch.is_foreign():
            parts.append((branch.start, match.start()))
        if name != "endif":
            is_ours = is_for("if", match["rest"], machine) if name == "elif" else None
            open_ones.append(Branch(match.end(), is_ours, branch.is_decided or branch.is_ours))
    return parts


@dataclasses.dataclass(frozen=True)
class Branch:
    start: int
    is_ours: bool  # None: of that machines say nothing
    is_decided: bool = False  # an earlier one is ours

    def is_foreign(self):
        return self.is_decided or self.is_ours is False


def is_for(name, condition, machine):
    """Whether a directive is for such machines; None: it asks for something else."""
    asked = re.fullmatch(r"\s*(\w+)\s*" if name in ("ifdef", "ifndef") else
                         r"\s*defined\s*\(?\s*(\w+)\s*\)?\s*", condition)
    if not asked or asked[1] not in MACHINES:
        return None
    return (MACHINES[asked[1]] == machine) != (name == "ifndef")


def pair_up(words):
    """{index of a bracket: index of its partner}, both ways."""
    partners, open_ones = {}, []
    for index, word in enumerate(words):
        if word.kind != "sign":
            continue
        if word.text in "([{":
            open_ones.append(index)
        elif word.text in ")]}" and open_ones:
            partners[index] = open_ones.pop()
            partners[partners[index]] = index
    return partners


def bodies(words, partners):
    """(first, last) of each function's body, without its braces."""
    index = 0
    while index < len(words):
        if words[index].text in "([{" and index in partners:
            if words[index].text == "{" and index and words[index - 1].text == ")":
                yield index + 1, partners[index] - 1
            # Of extern "C", a struct or an initialiser: nothing is to be run there.
            index = partners[index]
        index += 1


class Finder:
    """The faults of one file."""

    def __init__(self, file, source, machine):
        self.file = file
        self.words = split_words(source, machine)
        self.partners = pair_up(self.words)
        self.line_starts = [0] + [match.end() for match in re.finditer("\n", source)]
        self.found = []

    def find(self):
        for first, last in bodies(self.words, self.partners):
            for index in range(first, last + 1):
                self.look_at(index)
            self.look_at_statements(first, last)
        return sorted(self.found, key=lambda fault: (fault.start, fault.kind, fault.text))

    def add(self, kind, start, end, text):
        line = next(number for number in range(len(self.line_starts), 0, -1)
                    if self.line_starts[number - 1] <= start)
        self.found.append(Fault(self.file, line, start - self.line_starts[line - 1] + 1, kind,
                                start, end, text))

    def replace(self, kind, word, text):
        self.add(kind, word.start, word.end, text)

    def look_at(self, index):
        word = self.words[index]
        if word.kind == "number":
            self.look_at_number(index)
        elif word.kind == "sign":
            self.look_at_sign(index)
        if word.text == "(" and self.words[index - 1].kind == "name":
            self.look_at_call(index)

    def look_at_sign(self, index):
        word, before = self.words[index], self.words[index - 1]
        is_binary = before.ends_value()
        if word.text in ("++", "--"):
            self.replace("arithmetic", word, ARITHMETIC[word.text])
        elif word.text == "!" and not self.words[index + 1].text == "!":
            self.replace("comparison", word, "")
        elif not is_binary:
            return
        if word.text in ("++", "--") or word.text == "*" and self.is_declarator(index):
            return
        for kind, table in (("comparison", COMPARISONS), ("boundary", BOUNDARIES),
                            ("arithmetic", ARITHMETIC), ("logic", LOGIC)):
            if word.text in table and not (kind == "boundary" and self.is_clamp(index)):
                self.replace(kind, word, table[word.text])

    def is_clamp(self, index):
        """`a < b ? a : b`, `if (a > b) a = b;`: where both are equal, it is the same."""
        left, right = self.operand(index, -1), self.operand(index, 1)
        after = index + len(right) + 1
        chosen = [word.text for word in self.words[after:after + len(left) + len(right) + 3]]
        one, other = ([word.text for word in operand] for operand in (left, right))
        return (chosen[:len(chosen) - 1] in (["?", *one, ":", *other], ["?", *other, ":", *one]) or
                chosen in ([")", *one, "=", *other, ";"], [")", *other, "=", *one, ";"]))

    def operand(self, index, step):
        """The words of a comparison's side: up to what binds no closer."""
        words, at = [], index + step
        while self.words[at].text not in ("(", ")", "&&", "||", "?", ":", ";", ",", "=", "return",
                                          "{", "}"):
            if self.words[at].text == "[" and step > 0 or self.words[at].text == "]" and step < 0:
                first, last = sorted((at, self.partners[at]))
                words += self.words[first:last + 1][::step]
                at = self.partners[at]
            else:
                words.append(self.words[at])
            at += step
        return words[::step]

    def is_declarator(self, index):
        """`struct x *y`, `(char *)`: no product."""
        before, after = self.words[index - 1], self.words[index + 1]
        if after.text in (")", "*", ",") or before.text in TYPES:
            return True
        return (self.words[index - 2].text in TYPES or
                self.words[index - 2].text in (";", "{", "}", "(", ",") and before.kind == "name" and
                after.kind == "name" and self.words[index + 2].text in ("=", ";", ",", ")"))

    def look_at_number(self, index):
        word, before = self.words[index], self.words[index - 1]
        match = re.fullmatch(r"(\d+)([uUlL]*)", word.text)
        if not match or before.text == "{":
            return
        if before.text == "[" and (self.declares(index) or self.is_measured(index)):
            return
        # Of 1, which often stands for true, nothing; of all others one more.
        number = 0 if match[1] == "1" else int(match[1]) + 1
        self.replace("constant", word, f"{number}{match[2]}")

    def is_measured(self, index):
        """`sizeof(list[0])`: of any element."""
        while self.words[index].text not in ("sizeof", ";", "{"):
            index -= 1
        return self.words[index].text == "sizeof"

    def declares(self, index):
        """The length of an array."""
        while index and self.words[index - 1].text not in (";", "{", "}"):
            index -= 1
        return self.is_declaration(index)

    def is_declaration(self, first):
        one, two, three = self.words[first:first + 3]
        if one.text in TYPES or one.text.startswith("_cleanup"):
            return True
        if one.kind != "name" or one.text in KEYWORDS:
            return False
        return two.kind == "name" or two.text == "*" and three.kind == "name"

    def look_at_call(self, index):
        if self.words[index - 1].text in KEYWORDS | TYPES or index not in self.partners or \
           self.asks_for_equality(index):
            return
        arguments = self.arguments_of(index)
        for (start, end), (next_start, next_end) in zip(arguments, arguments[1:]):
            if not (self.is_simple(start, end) and self.is_simple(next_start, next_end)):
                continue
            one, two = self.text_of(start, end), self.text_of(next_start, next_end)
            if one != two:
                between = self.text_of(start, next_end)[len(one):-len(two)]
                self.add("swap", self.words[start].start, self.words[next_end - 1].end,
                         two + between + one)

    def asks_for_equality(self, index):
        """`memcmp(a, b, size) == 0`: whichever way round."""
        behind = [word.text for word in self.words[self.partners[index] + 1:][:2]]
        return self.words[index - 1].text in ("strcmp", "strncmp", "memcmp") and \
            (behind in (["==", "0"], ["!=", "0"]) or self.words[index - 2].text == "!")

    def arguments_of(self, index):
        """[first, behind the last) of each argument of the call."""
        arguments, start, at = [], index + 1, index + 1
        while at < self.partners[index]:
            if self.words[at].text in "([{" and at in self.partners:
                at = self.partners[at]
            elif self.words[at].text == ",":
                arguments.append((start, at))
                start = at + 1
            at += 1
        return arguments + [(start, at)]

    def is_simple(self, start, end):
        return start < end and all(
            word.kind in ("name", "number") and word.text not in KEYWORDS | TYPES or
            word.text in ("->", ".", "&") for word in self.words[start:end])

    def text_of(self, start, end):
        text = []
        for before, word in zip([None] + self.words[start:end - 1], self.words[start:end]):
            text.append(" " * (word.start - before.end if before else 0) + word.text)
        return "".join(text)

    def look_at_statements(self, first, last):
        index, begins = first, True
        while index <= last:
            word = self.words[index]
            if begins and word.kind == "name" and not self.is_label(index):
                self.look_at_statement(index, last)
            if word.text in ("if", "for", "while", "switch") and \
                    self.words[index + 1].text == "(":
                index, begins = self.partners[index + 1], True
            else:
                begins = (word.text in (";", "{", "}", "else", "do") or
                          word.text == ":" and self.ends_label(index))
                # An initialiser's braces, a call's brackets.
                if word.text in "([" or word.text == "{" and self.words[index - 1].text in \
                        ("=", ")", ",", "{") and not self.opens_block(index):
                    index, begins = self.partners[index], False
            index += 1

    def opens_block(self, index):
        before = self.words[index - 1]
        if before.text != ")":
            return before.text == "{"
        opening = self.partners[index - 1]
        return self.words[opening - 1].kind == "name" and self.words[opening - 1].text != "return"

    def is_label(self, index):
        return self.words[index + 1].text == ":" or self.words[index].text in ("case", "default")

    def ends_label(self, index):
        while self.words[index].text not in (";", "{", "}", "?"):
            if self.words[index].text in ("case", "default"):
                return True
            index -= 1
        return False

    def end_of_statement(self, index):
        while self.words[index].text != ";":
            index = self.partners[index] + 1 if self.words[index].text in "([{" else index + 1
            if self.words[index].text == "}":
                return None
        return index

    def look_at_statement(self, index, last):
        word = self.words[index]
        if word.text in KEYWORDS - set(JUMPS) or word.text not in JUMPS and \
                self.is_declaration(index):
            return
        # What it says is always so: nothing but a fault elsewhere can show that it is gone.
        if word.text == "assert":
            return
        end = self.end_of_statement(index)
        # A function's last one: nothing would be returned.
        if end is None or end == last and word.text == "return":
            return
        self.add("early return" if word.text in JUMPS else "statement", word.start,
                 self.words[end].end, ";")


def find_faults(file, source, machine=platform.machine()):
    return Finder(file, source, machine).find()
