"""Says what a process of a program is to write down, from the command that starts it to the process."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import sha256

from tdev_core.measure.places import Key

__all__ = ["VARIABLE", "Wish", "mark"]

VARIABLE = "TDEV_DIFF"
"""The variable of the environment that has the processes of a program write a recording."""


@dataclass(frozen=True)
class Wish:
    """A wish: the records to make, and the way to compute.

    Attributes:
        folder: where to.
        reference: the recording whose random numbers are taken; None for the first run.
        steps: after how many steps of optimizers the program ends; 0 for its own end.
        whole: marks (:func:`mark`) of what is kept with all its values.
        graphs: ``eager`` or ``compiled``: the graphs that ``torch.compile`` makes of the program, run this way; empty: the program.
        autocast: the type in which models are called inside of a region of autocast; empty: as the program does.
        fallbacks: whether the CPU computes each operator of the device's.
    """

    folder: str
    reference: str | None = None
    steps: int = 0
    whole: tuple[str, ...] = ()
    graphs: str = ""
    autocast: str = ""
    fallbacks: bool = False

    def text(self) -> str:
        """Return it for :data:`VARIABLE`."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> Wish:
        """Return what :meth:`text` says."""
        body = json.loads(text)
        return cls(**{**body, "whole": tuple(body["whole"])})


def mark(process: str, key: Key) -> str:
    """Return the name of the files that belong to something recorded, without their suffix."""
    place, operator, number = key
    return sha256(repr((process, tuple(place), operator, number)).encode()).hexdigest()[:24]
