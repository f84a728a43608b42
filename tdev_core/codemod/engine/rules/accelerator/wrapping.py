"""Breaks a line that has become too long, as a formatter would: at brackets, commas and operators.

Only lines whose brackets are closed in them are broken, and only where the result is the same program, by
Python's own parser.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

_TOKEN = re.compile(
    r"""[rRbBfFuU]{0,2}(?:"{3}.*?"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
    r"""|\#.*|[()\[\]{},]|\b(?:if|else|and|or|for|in|lambda)\b|==|!=|[<>]=?|:=|=|[-+*/%|&]|\s+|\w+|.""",
    re.DOTALL,
)
_HEAD = re.compile(
    r"(?:return|yield|if|elif|while|assert)\s+|\w[\w.\[\], ]*?(?::\s*[^=]+?)?\s*=\s*(?!=)"
)
_IMPORT = re.compile(r"(from\s+[\w.]+\s+import)\s+(\w[\w\s,]*\w|\w)")
_KEYWORD = re.compile(r"\w+=(?!=)")
# Of a dictionary: the key, before a condition.
_ENTRY = re.compile(r"""(?:"[^"\n]*"|'[^'\n]*'|[\w.]+)\s*:\s*""")
_ANNOTATED = re.compile(r"\w+\s*:\s*[^=]+=\s*")
_COMPARES = frozenset({"==", "!=", "<", ">", "<=", ">="})
_OPERATORS = frozenset({"==", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/", "%", "|", "&", "in"})


def wrapped(line: str, limit: int, inside: bool = False) -> list[str] | None:
    """Return the lines that say the same within ``limit`` columns; None where there is no such way.

    Args:
        inside: whether the line is in brackets that are open already.
    """
    content = line.lstrip()
    indent = line[: len(line) - len(content)]
    for lines in _fit(indent, content.rstrip(), limit, inside, 5):
        if max(map(len, lines)) <= limit and same(line, "\n".join(lines)):
            return lines
    return None


def same(old: str, new: str) -> bool:
    """Tell whether two texts are the same statement, header of a block, arguments, or part of a choice."""
    for before, after in (
        ("", ""),
        ("", "\n    pass"),
        ("f(\n", "\n)"),
        ("[\n", "\n]"),
        ("{\n", "\n}"),
        ("(a\n", "\nelse b)"),  # a test of `a if … else b` that has a line of its own
        ("(a if b\n", "\n)"),
    ):
        dumps = [_parsed(before + _flush(text) + after) for text in (old, new)]
        if dumps[0] is not None and dumps[0] == dumps[1]:
            return True
    return False


def _flush(text: str) -> str:
    text = text.lstrip()
    return f"if 0: pass\n{text}" if text.startswith(("elif ", "else:")) else text


@lru_cache(maxsize=64)
def _parsed(text: str) -> str | None:
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError):
        return None


def _tokens(text: str) -> list[tuple[int, str, int]]:
    """Return offset, text and depth of each token; the depth of a bracket is that outside it."""
    found, depth = [], 0
    for token in _TOKEN.finditer(text):
        word = token.group()
        if word in ")]}":
            depth -= 1
        found.append((token.start(), word, depth))
        if word in ("(", "[", "{"):
            depth += 1
    return found


def _fit(indent: str, text: str, limit: int, inside: bool, deep: int) -> Iterator[list[str]]:
    """Yield ways to write ``text``, the better ones first."""
    if len(indent) + len(text) <= limit:
        yield [indent + text]
        return
    if deep == 0 or "#" in text and any(word.startswith("#") for _, word, _ in _tokens(text)):
        return
    # A way whose first line has to be broken again is the last resort: `x = f(\n    a\n).to(\n    device\n)`.
    ways = list(_ways(text, inside))
    ways.sort(key=lambda parts: len(indent) + len(parts[0][1]) > limit)
    for parts in ways:
        lines: list[str] | None = []
        for step, part, within in parts:
            best = next(_fit(indent + " " * step, part, limit, within, deep - 1), None)
            if best is None:
                lines = None
                break
            assert lines is not None
            lines += best
        if lines:
            yield lines


def _ways(text: str, inside: bool) -> Iterator[list[tuple[int, str, bool]]]:
    """Yield the ways to break a text: the indent of each part, the part, and whether it is in brackets."""
    tokens = _tokens(text)
    flat = [(at, word) for at, word, depth in tokens if depth == 0]
    words = {word for _, word in flat}
    if (imported := _IMPORT.fullmatch(text)) is not None:
        names = [name.strip() for name in imported[2].split(",")]
        yield [(0, f"{imported[1]} (", True), *((4, f"{n},", True) for n in names), (0, ")", True)]
        return
    if inside:
        yield from _delimited(text, flat, words)
        entry = _ENTRY.match(text)
        if entry is not None and ("or" in words or "and" in words):
            joint = "or" if "or" in words else "and"
            yield [(0, p, True) for p in _pieces(text, [a for a, w in flat if w == joint])]
        given = _KEYWORD.match(text)
        chooses = {"if", "else"} <= words and not words & {"lambda", "for"}
        # Rather than in the brackets of one of its arms, or of its test.
        if given is not None and chooses:
            tail = "," if text.endswith(",") else ""
            body = text[given.end() : len(text) - len(tail)]
            yield [(0, text[: given.end()] + "(", True), (4, body, True), (0, ")" + tail, True)]
    elif (head := _HEAD.match(text)) is not None:
        tail = ":" if text.endswith(":") else ""
        body = text[head.end() : len(text) - len(tail)]
        rest = {word for at, word in flat if at >= head.end()}
        several = "," in rest
        joined = "," not in rest and rest & (_OPERATORS | {"if", "and", "or"})
        if joined and "if" not in rest and "lambda" not in rest:
            yield from _in_the_last_brackets(text, tail, [f for f in flat if f[0] >= head.end()])
        if "lambda" not in rest and (several or joined):
            yield [(0, text[: head.end()] + "(", True), (4, body, True), (0, ")" + tail, True)]
    # Never in an annotation: the default behind it is what has become long.
    if inside and (annotated := _ANNOTATED.match(text)) is not None:
        flat = [(at, word) for at, word in flat if at >= annotated.end()]
    opened = [at for at, word in flat if word in ("(", "[", "{")]
    closed = [at for at, word in flat if word in (")", "]", "}")]
    for start, end in reversed(list(zip(opened, closed, strict=False))):
        body = text[start + 1 : end].strip()
        if body and not body.isidentifier():
            body = body.removesuffix(",")
            yield [(0, text[: start + 1], True), (4, body, True), (0, text[end:], True)]


def _in_the_last_brackets(
    text: str, tail: str, flat: list[tuple[int, str]]
) -> Iterator[list[tuple[int, str, bool]]]:
    """Yield ``x = a or f(…)`` broken in its last brackets: one operator needs none of its own."""
    end = len(text) - len(tail) - 1
    opened = [at for at, word in flat if word in ("(", "[", "{")]
    joints = [at for at, word in flat if word in ("and", "or")]
    joints = joints or [at for at, word in flat if word in _OPERATORS]
    if text[end] not in ")]}" or not opened or len(joints) != 1 or joints[0] > opened[-1]:
        return
    start = opened[-1]
    called = text[start - 1].isalnum() or text[start - 1] in "_)]"
    if called and text[start] == "[":
        return  # never in a subscript
    body = text[start + 1 : end].strip()
    commas = [at + 1 for at, word, depth in _tokens(body) if word == "," and depth == 0]
    if body.endswith(",") or commas and not called:
        items = [(4, f"{piece.removesuffix(',')},", True) for piece in _pieces(body, commas)]
    else:
        items = [(4, body, True)]
    if body:
        yield [(0, text[: start + 1], True), *items, (0, text[end:], True)]


def _delimited(
    text: str, flat: list[tuple[int, str]], words: set[str]
) -> Iterator[list[tuple[int, str, bool]]]:
    ends = text.endswith(",")
    if "lambda" in words:
        return
    if "," in words and [word for _, word in flat if word == ","] != [","] * ends:
        for trailing in (",", ""):
            cuts = [at for at, word in flat if word == ","]
            pieces = _pieces(text, [at + 1 for at in cuts])
            last = pieces[-1] if pieces[-1].endswith(",") else pieces[-1] + trailing
            yield [(0, piece, True) for piece in [*pieces[:-1], last]]
    elif "for" in words:
        seen = False
        cuts = []
        for at, word in flat:
            seen = seen or word == "for"
            if word == "for" or word == "if" and seen:
                cuts.append(at)
        yield [(0, piece, True) for piece in _pieces(text, cuts)]
    elif "if" in words and "else" in words and "=" not in words:
        yield [(0, p, True) for p in _pieces(text, [a for a, w in flat if w in ("if", "else")])]
    elif ("or" in words or "and" in words) and "=" not in words:
        joint = "or" if "or" in words else "and"
        yield [(0, p, True) for p in _pieces(text, [a for a, w in flat if w == joint])]
    elif len(compared := [at for at, word in flat if word in _COMPARES]) == 1 and "=" not in words:
        yield [(0, piece, True) for piece in _pieces(text, compared)]


def _pieces(text: str, cuts: list[int]) -> list[str]:
    bounds = [0, *cuts, len(text)]
    pieces = [text[a:b].strip() for a, b in zip(bounds, bounds[1:], strict=False)]
    return [piece for piece in pieces if piece]


_OPERATOR = re.compile(r" (?=(?:and|or) )")
_OPENED = re.compile(r"([ \t]*)(?:and|or) ")


def broken_before_an_operand(line: str, after: str, limit: int) -> list[str] | None:
    """Break a line of a condition where the next line, ``after``, is broken: in front of ``and``, as deep."""
    deep = _OPENED.match(after)
    if deep is None or "'" in line or '"' in line or "#" in line:
        return None
    depths = [0]
    for sign in line:
        depths.append(depths[-1] + (sign in "([{") - (sign in ")]}"))
    for found in reversed(list(_OPERATOR.finditer(line))):
        head, rest = line[: found.start()], deep[1] + line[found.end() :]
        if depths[found.start()] == depths[-1] and 0 < len(head) <= limit and len(rest) <= limit:
            return [head, rest] if depths[-1] == 1 else None
    return None
