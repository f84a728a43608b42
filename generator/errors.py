"""The errors of the generator that a person is meant to read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Decision", "GenerationError", "Undecided"]


class GenerationError(Exception):
    """Generation cannot go on; the message is one paragraph naming file and entry, and what to do.

    Command-line tools print it and exit with status 2, before anything has been written.
    """


@dataclass(frozen=True)
class Decision:
    """One thing that only a person can decide.

    Attributes:
        text: what it is, where, and what to do, in a paragraph.
        member: the name of torch that it is about, or empty.
        lacks_route: whether it is that the member has no route at all.
        absent: what the torch that was planned for lacks, and the routes name; where another of the torches has it,
            there is nothing to decide.
    """

    text: str
    member: str = ""
    lacks_route: bool = False
    absent: str = ""


class Undecided(GenerationError):
    """All that has to be decided before anything can be planned; ``decisions`` are each."""

    def __init__(self, decisions: Iterable[Decision]) -> None:
        self.decisions = tuple(decisions)
        texts = [decision.text for decision in self.decisions]
        few = texts[0] if len(texts) == 1 else ""
        super().__init__(few or "\n".join([f"{len(texts)} decisions:", *texts]))
