"""Read what the installed torch says about itself, the same for every build of a release.

Imports running, and torch where its cache does not answer; plan, upgrade and codemod import it:

    from generator.facts import introspect
    facts = introspect()          # seconds the first time, then from the cache
"""

from generator.facts.cache import introspect
from generator.facts.devices import is_device_parameter
from generator.facts.model import (
    Facts,
    Member,
    Method,
    Module,
    Operator,
    Parameter,
    Private,
    Signature,
)
from generator.facts.pin import PINNED, FactsError, check_pinned
from generator.facts.support import Operators, support

__all__ = [
    "PINNED",
    "Facts",
    "FactsError",
    "Member",
    "Method",
    "Module",
    "Operator",
    "Operators",
    "Parameter",
    "Private",
    "Signature",
    "check_pinned",
    "introspect",
    "is_device_parameter",
    "support",
]
