"""The one error of the generator that a person is meant to read."""

from __future__ import annotations


class GenerationError(Exception):
    """Generation cannot go on; the message is one paragraph naming file and entry, and what to do.

    Command-line tools print it and exit with status 2, before anything has been written.
    """
