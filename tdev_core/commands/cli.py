"""``python -m tdev``: run a script, and tell what is answered how."""

from __future__ import annotations

import sys

from tdev_core.codemod.files.write import Terminated, terminations
from tdev_core.commands.saying import say

USAGE = """usage: python -m tdev COMMAND …

commands:
  run SCRIPT [ARGS …]      run an untouched script as if it had been migrated
  run -m MODULE [ARGS …]   the same for a module
  diff SCRIPT [ARGS …]     which operator gives other numbers on another backend (diff --help)
  tune -- python SCRIPT …  which settings make its steps faster on this device (tune --help)
  plan --world N SCRIPT …  what one rank of a parallel program needs of memory and network (plan --help)
  report REPORT.json       the steps of a report that TDEV_REPORT=json has written (report --help)
  doctor                   what hardware was found, what is active, what would be faster
  doctor --perf [SCRIPT]   what costs time in a program (doctor --perf --help)
  matrix [PATTERN] …       which function is answered how on which backend (matrix --help)
  audit PATH …             which names of torch a code base uses, and how each is answered (audit --help)
  badge PATH …             the same in one number, as SVG or JSON (badge --help)
  site                     the compatibility table and the documentation in a browser (site --help)
  native                   build the C++ kernels of device mlx or sim (native --help)
  explain [TDEV101 …]      what the number of an error or a warning means
  version                  which tdev, torch, backend and Python this is, for bug reports
  codemod PATH …           rewrite source; the same as python -m tdev.codemod
"""


def main(argv: list[str] | None = None) -> int:
    """Run the command line ``argv`` (without the program's name, default this process's); return its exit status.

    On Ctrl-C and on SIGTERM a command removes what it was about to write, says that it was stopped, and returns 130 or
    143. A program that ``run`` has started is asked neither way: it gets both signals as from Python.
    """
    argv = sys.argv[1:] if argv is None else argv
    command = argv[0] if argv else ""
    if command == "run":
        from tdev_core.run import main as run

        return run(argv[1:])
    try:
        with terminations():
            return _run(command, argv)
    except KeyboardInterrupt as error:
        print(f"tdev {command}: stopped", file=sys.stderr)
        return 143 if isinstance(error, Terminated) else 130


def _run(command: str, argv: list[str]) -> int:
    match command:
        case "codemod":
            from tdev_core.codemod.cli import main as codemod

            return codemod(argv[1:])
        case "matrix":
            from tdev_core.commands.matrix_cli import main as matrix

            return matrix(argv[1:])
        case "doctor":
            from tdev_core.commands.doctor import main as doctor

            return doctor(argv[1:])
        case "diff":
            from tdev_core.commands.diff_cli import main as diff

            return diff(argv[1:])
        case "tune":
            from tdev_core.commands.tune_cli import main as tune

            return tune(argv[1:])
        case "plan":
            from tdev_core.commands.plan_cli import main as plan

            return plan(argv[1:])
        case "report":
            from tdev_core.commands.report_cli import main as report

            return report(argv[1:])
        case "explain":
            from tdev_core.commands.explain import main as explain

            return explain(argv[1:])
        case "audit":
            from tdev_core.commands.audit_cli import main as audit

            return audit(argv[1:])
        case "badge":
            from tdev_core.commands.audit_cli import badge

            return badge(argv[1:])
        case "site":
            from tdev_core.commands.site_cli import main as site

            return site(argv[1:])
        case "native":
            from tdev_core.accelerators.privateuse.native import main as native

            return native(argv[1:])
        case "version" | "--version" | "-V":
            from tdev_core.commands.doctor import version_lines

            say("\n".join(version_lines()))
            return 0
        case "-h" | "--help" | "help":
            say(USAGE.rstrip())
            return 0
        case _:
            what = f"unknown command {command!r}" if command else "no command"
            print(f"tdev: {what}\n\n{USAGE}", end="", file=sys.stderr)
            return 2
