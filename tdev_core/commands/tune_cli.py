"""``python -m tdev tune``: finds the settings with which a program's steps take least time on this device."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tdev_core.backend import Backend
from tdev_core.commands.saying import say
from tdev_core.errors import ConfigError

USAGE = """\
usage: python -m tdev tune [OPTIONS] -- python SCRIPT [ARGS ...]
       python -m tdev tune [OPTIONS] -- python -m MODULE [ARGS ...]

Runs a program as `tdev run` does, and takes its own steps now with one setting and now with another, by turns. Says what
helps, what hurts and what makes no difference, and keeps what helps in tdev-tune.toml, for this device, system, torch and
program. It is used where TDEV_TUNE=tdev-tune.toml is set, or by tdev.tune.apply(). The program is ended when enough is
known, and started again as often as it must.

  --on BACKEND        cuda, mps, mlx, sim or cpu (default: what is active)
  --seconds N         how long it may take (default 300)
  --only A,B          try these settings alone
  --without A,B       try all but these
  --vary NAME=A,B,C   a setting of yours: {NAME} in ARGS is one of these, the first as a rule; may be repeated
  --clock CLOCK       wall, or processor: the time of the program on processors, which others do not disturb; it tells
                      nothing of threads and loaders, which are then left out
  --file FILE         where to keep what helps (default tdev-tune.toml)
  --plot FILE.svg     draw the races, by matplotlib (pip install 'tdev[plot]'); without it, in characters on the terminal

Settings: {settings}

Exit status: 0 measured (also where nothing helps), 2 it could not be.
"""
_WORDS = {
    "helps": "helps", "hurts": "hurts", "equal": "no difference", "behind": "behind", "fails": "fails",
}  # fmt: skip


class Refused(Exception):
    """A request that cannot be met; the message says why."""


@dataclass(frozen=True)
class Request:
    """The request of a command line."""

    words: tuple[str, ...]
    backend: str | None = None
    seconds: float = 300.0
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    own: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    clock: str = "wall"
    file: Path = Path("tdev-tune.toml")
    plot: str = ""


def main(argv: Sequence[str]) -> int:
    """Run the command; return its exit status."""
    if not argv or argv[0] in ("-h", "--help"):
        say(_usage())
        return 0 if argv else 2
    try:
        return _tune(_parse(argv))
    except (Refused, ConfigError) as error:
        print(f"tdev tune: {error}", file=sys.stderr)
        return 2


def _usage() -> str:
    from tdev_core.measure.tuning.choices import CHOICES

    return USAGE.rstrip().replace("{settings}", ", ".join(CHOICES))


def _parse(argv: Sequence[str]) -> Request:
    rest = list(argv)
    known = ("--on", "--seconds", "--only", "--without", "--vary", "--clock", "--file", "--plot")
    given: dict[str, str] = {}
    own: dict[str, tuple[str, ...]] = {}
    while rest and rest[0].startswith("--"):
        name, is_set, value = rest.pop(0).partition("=")
        if name == "--":
            break
        if name not in known:
            raise Refused(f"unknown option {name}\n\n{_usage()}")
        if not is_set:
            if not rest:
                raise Refused(f"{name} needs a value")
            value = rest.pop(0)
        if name == "--vary":
            setting, _, values = value.partition("=")
            own[setting] = tuple(values.split(","))
            if not setting or len(own[setting]) < 2:
                raise Refused(f"--vary {value}: it needs a name and two values: --vary batch=8,16")
        else:
            given[name] = value
    words = _program(rest)
    missing = [name for name in own if not any(f"{{{name}}}" in word for word in words)]
    if missing:
        raise Refused(
            f"--vary {missing[0]}: {{{missing[0]}}} is nowhere in the program's arguments"
        )
    return Request(
        words,
        _backend(given.get("--on")),
        _seconds(given.get("--seconds", "300")),
        _settings("--only", given),
        _settings("--without", given),
        own,
        _clock(given.get("--clock", "wall")),
        Path(given.get("--file", "tdev-tune.toml")),
        given.get("--plot", ""),
    )


def _program(rest: Sequence[str]) -> tuple[str, ...]:
    """Return what `tdev run` is to run of ``python SCRIPT …``; the name of the interpreter may be left out."""
    words = list(rest)
    if words and Path(words[0]).name.startswith("python"):
        words.pop(0)
    if not words:
        raise Refused("no script and no module given")
    if words[0].startswith("-") and words[0] != "-m":
        raise Refused(f"{words[0]}: options of the interpreter cannot be handed on")
    if words[0] != "-m" and not Path(words[0]).exists():
        raise Refused(f"{words[0]}: no such file")
    return tuple(words)


def _backend(given: str | None) -> str | None:
    known = [one.value for one in Backend]
    if given is not None and given not in known:
        raise Refused(f"--on {given}: no backend. There are {', '.join(known)}")
    return given


def _seconds(given: str) -> float:
    try:
        found = float(given)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise Refused(f"--seconds {given}: a number above 0 is needed")
    return found


def _clock(given: str) -> str:
    from tdev_core.measure.tuning.stepping import CLOCKS

    if given not in CLOCKS:
        raise Refused(f"--clock {given}: no such clock. There are {', '.join(CLOCKS)}")
    return given


def _settings(option: str, given: Mapping[str, str]) -> tuple[str, ...]:
    from tdev_core.measure.tuning.choices import CHOICES

    names = tuple(filter(None, (name.strip() for name in given.get(option, "").split(","))))
    wrong = [name for name in names if name not in CHOICES]
    if wrong:
        raise Refused(f"{option} {', '.join(wrong)}: no setting. There are {', '.join(CHOICES)}")
    return names


def _tune(request: Request) -> int:
    from tdev_core.measure.tuning import lanes
    from tdev_core.measure.tuning.applying import keep, name_of, to_try
    from tdev_core.measure.tuning.racing import Failed
    from tdev_core.measure.tuning.searching import search

    if sys.platform == "win32":
        raise Refused(
            "a program of its own cannot be asked for steps on Windows; tdev.tune.search(make) works there"
        )
    ways = lanes.command(request.words, request.backend, request.clock, request.own)
    program = name_of(request.words)
    try:
        with _Screen() as screen:
            screen("starting the program", 0, 0, None)
            offers = to_try(
                ways.offers(), request.only, request.clock, request.own, request.without
            )
            device = ways.device
            found = search(ways, offers, request.seconds, screen)
    except Failed as error:
        raise Refused(f"{program}: {error}") from None
    finally:
        ways.close()
    backend = Backend(request.backend) if request.backend else None
    keep(request.file, program, found, request.own, backend)
    _tell(program, device, found, request)
    if request.plot:
        _plot(Path(request.plot), f"{program} on {device}", found)
    return 0


def _plot(path: Path, title: str, found: Any) -> None:
    """Draw the races of single settings, and all that help together; in characters where matplotlib is not installed."""
    from tdev_core.measure import plotting

    rows = [
        plotting.Bar(f"{one.name} = {one.value}", one.race.ratio, *one.race.interval)
        for one in found.trials
        if not one.beside
    ]
    if found.settings:
        rows.append(plotting.Bar("together", found.together.ratio, *found.together.interval))
    try:
        plotting.draw_bars(path, title, rows)
    except ConfigError as error:
        print(f"tdev tune: {error}", file=sys.stderr)
        say(plotting.bars(rows))


class _Screen:
    """Shows how far a search is: with rich on a terminal, else one line for each race on stderr."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._status: Any = None

    def __enter__(self) -> _Screen:
        if sys.stderr.isatty():
            try:
                from rich.console import Console
            except ImportError:
                return self
            self._status = Console(stderr=True).status("")
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def __call__(self, what: str, done: int, of: int, race: Any) -> None:
        """Say it, with the time that is left as the races so far have it."""
        passed = time.monotonic() - self._begun
        head = f"{done + 1} of {of}: {what}" if done < of else what
        left = f", about {passed / done * (of - done):.0f} s left" if done else ""
        if self._status is not None:
            so_far = f", {race.ratio:.2f} × after {len(race.ratios)} blocks" if race else ""
            self._status.update(f"{head}{so_far}{left}".replace("[", "\\\\["))
        elif race is None:  # of those that are raced at once each is told in turn
            print(f"tdev tune: {head}{left} …", file=sys.stderr, flush=True)


def _tell(program: str, device: str, found: Any, request: Request) -> None:
    lines = [f"{program} on {device}: {len(found.trials)} races in {found.seconds:.0f} s"]
    lines += _races(found)
    if found.skipped:
        lines.append(f"not tried, for want of time: {', '.join(found.skipped)}")
    for name in found.dropped:
        lines.append(f"given up for the loss: {name}")
    together = found.together
    for one in found.losses:
        said = "agree" if one.agree else "differ"
        lines.append(
            f"mean losses {said}: {one.own:.6g} without the settings, {one.tuned:.6g} with them ({one.allowed:.2g} is allowed)"
        )
    if found.settings:
        before, after = together.seconds
        low, high = together.interval
        lines.append(
            f"together: {together.ratio:.2f} × ({low:.2f} to {high:.2f}), {1e3 * before:.3g} ms a step became {1e3 * after:.3g} ms"
        )
        mine = [f"{name} = {value}" for name, value in found.settings.items()]
        lines += [
            f"kept in {request.file}: {', '.join(mine)}",
            f"use it: TDEV_TUNE={request.file} python -m tdev run {program}",
        ]
        yours = [name for name in found.settings if name in request.own]
        if yours:
            lines.append(f"only you can use {', '.join(yours)}: put it into the command line")
    else:
        lines.append("nothing helps: the program's own settings are as fast as any that were tried")
    say("\n".join(lines))


def _races(found: Any) -> list[str]:
    """Return a line for each race, those of a verdict together: what helped, what hurt, what made no difference."""
    rows: list[tuple[str, str, str]] = []
    for verdict in ("helps", "hurts", "equal", "behind", "fails"):
        for one in found.trials:
            what = f"{one.name} = {one.value}"
            beaten = what in found.behind and not one.beside
            if ("behind" if beaten else one.race.verdict) != verdict:
                continue
            if one.beside:
                what += f" (against {', '.join(f'{name} = {value}' for name, value in one.beside.items())})"
            low, high = one.race.interval
            numbers = (
                " ".join(one.race.failure.split())[:120]
                if verdict == "fails"
                else "no time was left for it"
                if not one.race.ratios
                else f"{one.race.ratio:.2f} ×, {found.behind[what]} is faster"
                if beaten
                else f"{one.race.ratio:.2f} ×  ({low:.2f} to {high:.2f}, {len(one.race.ratios)} blocks)"
            )
            rows.append((_WORDS[verdict], what, numbers))
    for what, like in found.same.items():
        with_ = f"with {like}" if like else "as it is"
        rows.append(("same", what, f"not raced: a step is made of the same {with_}"))
    for what in found.more:
        rows.append(
            ("does more", what, "not raced: a step does all that it does as it is, and more")
        )
    width = max((len(what) for _, what, _ in rows), default=0)
    return [f"  {verdict:<13}  {what:<{width}}  {numbers}" for verdict, what, numbers in rows]
