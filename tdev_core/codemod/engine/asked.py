"""Names what is asked of values: which kind of thing, of which part of them, and where in the tree they come from."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["device", "tensor", "object"]
"""A real device; a tensor; something whose ``.device`` is a real one, as that of a tensor is, or of a module."""

Step = int | str | None
"""A way from a value to a part of it: the item at a place (from the end, if below zero), the item of a key, any item."""

EACH: Step = None
"""Whatever comes out of a value when it is iterated over."""

VALUE: Step = "*"
"""The item of whatever key."""


class Want(NamedTuple):
    """The part of a value that has to be of a kind: the whole of it, or what is found on a path into it."""

    kind: Kind
    path: tuple[Step, ...] = ()

    def under(self, *steps: Step) -> Want:
        """Return what is wanted of a value that the present one is a part of."""
        return Want(self.kind, (*steps, *self.path)) if steps else self

    @property
    def inner(self) -> Want:
        """The same of the part that the first step leads to."""
        return Want(self.kind, self.path[1:])


DEVICE = Want("device")
TENSOR = Want("tensor")
OBJECT = Want("object")

Way = Literal[
    "parameter",
    "call",
    "gives",
    "method",
    "heirs",
    "refuses",
    "filled",
    "fixture",
    "variable",
    "named",
    "made",
    "kept",
    "word",
]


class Asked(NamedTuple):
    """A question that only all files of a tree together can answer.

    - ``parameter``: does everybody give ``of``, a function or what makes a class, what is wanted as its parameter ``name``;
    - ``call``: likewise of those who call the objects of a class, a module's ``forward``;
    - ``gives``: do all functions called ``of`` return it; ``method``: does ``name`` of the class ``of``;
    - ``heirs``: does ``name`` of all classes that inherit from the class ``of`` and have their own;
    - ``refuses``: do all functions called ``of`` raise if what they are given by a place or a keyword, ``name``, is not there;
    - ``filled``: does nobody but the class ``of`` itself put something into what it keeps in ``name``;
    - ``fixture``: do all fixtures of pytest's of that name;
    - ``variable``: does the module ``of`` keep it in ``name``, and nothing else;
    - ``named``: do all classes that an object called ``of`` may be one of keep it in their attribute ``name``;
    - ``made``: do all classes called after a word that a call with certain keywords may make: ``agent:gpu_id`` of
      ``args.agent_class(n, gpu_id=0)``;
    - ``kept``: does the class ``of`` itself, or one that it inherits from; each class where ``of`` names none;
    - ``word``: does somebody give a word to a parameter that is annotated as a device.
    """

    way: Way
    of: str
    name: str = ""
    want: Want = DEVICE
