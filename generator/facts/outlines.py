"""Read from a file only what stands at its top level, for a third of what reading all of it costs.

Nothing that a function or a class has inside binds a name in its module. So the bodies are cut away
before Python parses the text. Where what is left is no Python, the whole text is parsed.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from generator.facts.scopes import Scope, read_scope

__all__ = ["outline", "read_outline"]

# Comments and strings, in the order in which a reader meets them: neither is looked for in the other.
_TOKENS = re.compile(
    r"""\#[^\n]*"""
    r'''|"""(?:[^\\]|\\.)*?"""'''
    r"""|\'\'\'(?:[^\\]|\\.)*?\'\'\'"""
    r'''|"(?:[^"\\\n]|\\.)*"'''
    r"""|'(?:[^'\\\n]|\\.)*'""",
    re.DOTALL,
)
# A definition with all lines that are indented more than it is, and those that close its brackets.
_DEFINITIONS = re.compile(
    r"^([ \t]*)(?:async[ ]+)?(?:def|class)[ ]+(\w+)[^\n]*"
    r"(?:\n(?:\1[ \t]+[^\n]*|[ \t]*(?=\n|\Z)|\1[)\]}][^\n]*))*",
    re.MULTILINE,
)


def outline(text: str) -> str:
    """Return the source ``text`` with empty definitions, without comments and strings of several lines."""
    return _DEFINITIONS.sub(r"\1class \2: pass", _TOKENS.sub(_short, text))


def _short(token: re.Match[str]) -> str:
    found = token[0]
    if found.startswith("#"):
        return ""
    return '""' if "\n" in found or found.startswith(('"""', "'''")) else found


def read_outline(module: str, path: str, is_package: bool) -> Scope | None:
    """Return what a type checker sees in a file, as the whole file says too; None for one that is not Python."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    for written in (outline(text), text):
        try:
            body = ast.parse(written).body
        except (SyntaxError, ValueError):
            continue
        return read_scope(module, body, is_package, stub=path.endswith(".pyi"))
    return None
