"""The command line of the compatibility site: build it where it is missing, and show it."""

from __future__ import annotations

import argparse
import sys
import webbrowser
from importlib.util import find_spec
from pathlib import Path

from tdev_core import caches
from tdev_core.codemod.output.about import version
from tdev_core.commands.saying import say
from tdev_core.errors import ConfigError, TdevError

__all__ = ["NEEDED", "main", "require"]

NEEDED = {"jinja2": "jinja2", "markdown_it": "markdown-it-py", "pygments": "pygments"}


def main(argv: list[str]) -> int:
    """Run the command; return the exit status: 2 where the site cannot be built or written."""
    options = _parser().parse_args(argv)
    try:
        require("the site", NEEDED)
        if options.play:
            return _play(options)
        folder = Path(options.output) if options.output else None
        page = _built(folder, options.repository) / "index.html"
        if not (options.output or options.no_open) and not webbrowser.open(page.as_uri()):
            print("tdev: no browser was found; open the page above yourself.", file=sys.stderr)
    except (TdevError, caches.Refused) as error:
        print(f"tdev site: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tdev site",
        description="Every name of torch and how each backend answers it, with the documentation, as pages in a browser.",
    )
    parser.add_argument("--output", metavar="DIR", help="build it there, and open nothing")
    parser.add_argument("--no-open", action="store_true", help="build it, and say where it is")
    parser.add_argument(
        "--repository",
        metavar="URL",
        help="the address below which the repository's files can be read, for links to them",
    )
    parser.add_argument(
        "--play",
        action="store_true",
        help="serve it on 127.0.0.1, with a playground for the codemod",
    )
    parser.add_argument(
        "--port", type=int, default=0, help="the port of --play; any free one by default"
    )
    return parser


def require(what: str, modules: dict[str, str]) -> None:
    """Say how to install what a plain installation of tdev leaves out.

    Raises:
        ConfigError: one of the ``modules`` (import name, distribution) is missing.
    """
    missing = [name for module, name in modules.items() if find_spec(module) is None]
    if missing:
        raise ConfigError(
            f"{what} needs {' and '.join(missing)}, which this Python ({sys.executable}) does not have: "
            "pip install 'tdev[codemod,site]'"
        )


def _own() -> Path:
    folder = caches.directory("site")
    if folder is None:
        raise ConfigError(
            "there is no cache directory to build it in; name a folder with --output."
        )
    return folder


def _built(folder: Path | None, repository: str | None) -> Path:
    """Return the folder with the site in it, built anew where it is not that of this installation.

    Args:
        folder: where the user wants it; None: in the user's cache, which nobody else may have written.
        repository: the address of the repository's files, or None.
    """
    from tdev_core.site.build import MARK, build, digest, place, write
    from tdev_core.site.sources import find

    sources = find()
    target = (folder or _own()).absolute()
    current = digest(version(), sources, repository)
    if _mark(target / MARK, own=folder is None) != current:
        place(target).rmdir()  # what cannot be written is said before the work, and not after it
        print("Building the site: some seconds.", file=sys.stderr)
        write(target, build(version(), sources=sources, repository=repository), say)
    say(str(target / "index.html"))
    return target


def _mark(path: Path, own: bool) -> str:
    """Return what a site was made from, as far as there is one."""
    if own:
        return caches.read(path).decode(errors="replace").strip() if caches.holds(path) else ""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _play(options: argparse.Namespace) -> int:
    """Serve the site with the playground until the user has had enough."""
    require("the playground", {"libcst": "libcst", "pathspec": "pathspec"})
    from tdev_core.site.playground import serve

    def opened(address: str) -> None:
        say(f"{address}\nCtrl-C ends it. Nothing that you paste leaves this machine.")
        sys.stdout.flush()
        if not options.no_open:
            webbrowser.open(address)

    folder = Path(options.output) if options.output else None
    return serve(_built(folder, options.repository), version(), options.port, opened)
