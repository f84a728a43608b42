"""``python -m tdev``: run a script, and tell what is answered how."""

from __future__ import annotations

import sys

from tdev_core.commands.saying import say

USAGE = """usage: python -m tdev COMMAND …

commands:
  run SCRIPT [ARGS …]      run an untouched script as if it had been migrated
  run -m MODULE [ARGS …]   the same for a module
  diff SCRIPT [ARGS …]     which operator gives other numbers on another backend (diff --help)
  doctor                   what hardware was found, what is active, what would be faster
  matrix [PATTERN] …       which function is answered how on which backend (matrix --help)
  native                   build the C++ kernels of device mlx (native --help)
  explain [TDEV101 …]      what the number of an error or a warning means
  version                  which tdev, torch, backend and Python this is, for bug reports
  codemod PATH …           rewrite source; the same as python -m tdev.codemod
"""


def main(argv: list[str] | None = None) -> int:
    """Run the command line ``argv`` (without the program's name, default this process's); return its exit status."""
    argv = sys.argv[1:] if argv is None else argv
    command = argv[0] if argv else ""
    match command:
        case "run":
            from tdev_core.run import main as run

            return run(argv[1:])
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
        case "explain":
            from tdev_core.commands.explain import main as explain

            return explain(argv[1:])
        case "native":
            from tdev_core.accelerators.mlx.native import main as native

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
