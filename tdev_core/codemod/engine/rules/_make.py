"""Makes the statement of a rule: an id, a title and the words of its documentation page."""

from __future__ import annotations

import inspect

from tdev_core.codemod.engine.api import Rule, Severity


def rule(id: str, title: str, severity: Severity | None, doc: str) -> Rule:
    """Return a :class:`Rule` whose ``doc`` is an indented literal."""
    return Rule(id, title, inspect.cleandoc(doc), severity)
