"""Serves the site on this machine with a playground: CUDA code in, migrated code and findings out.

The codemod is LibCST, which has a compiled part; rather than bring a Python in WebAssembly along, the page asks
this process. What always holds:

- it listens on 127.0.0.1 alone, and answers nothing outside of a path that starts with a secret made for this run;
- a request whose ``Host`` or ``Origin`` is not this server's is refused, so that no other site reaches it;
- a text is data: a worker of the codemod's rewrites it, as it rewrites any file, within a size and a time;
- nothing is written, and nothing leaves the machine.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tdev_core.codemod.engine import STYLES, Options, Style
from tdev_core.codemod.jobs.pool import Pool
from tdev_core.codemod.jobs.process import Job
from tdev_core.codemod.model import Kind, Outcome, Status
from tdev_core.codemod.output.diff import unified
from tdev_core.errors import ConfigError
from tdev_core.site.build import environment

__all__ = ["LARGEST", "Playground", "SECONDS", "migrate", "serve"]

LARGEST = 200_000
"""The bytes that a text may have."""

SECONDS = 30.0
"""The time that all three targets together may take."""

_NAME = "example.py"
_AT_ONCE = 2
_FORGOTTEN = 64_000_000
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".xml": "application/atom+xml",
    ".txt": "text/plain; charset=utf-8",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


def migrate(source: str, *, seconds: float = SECONDS) -> dict[str, dict[str, Any]]:
    """Return what each target of the codemod makes of a text.

    Each has ``code``, the ``diff`` (unified), the ``findings``, and ``error``: why it was left alone, or nothing.
    """
    raw = source.encode("utf-8", "surrogatepass")
    pool = Pool(1)
    late = threading.Event()

    def end() -> None:
        late.set()
        pool.kill()  # whatever the worker is doing

    timer = threading.Timer(seconds, end)
    timer.start()
    jobs = [Job(_NAME, Kind.PYTHON, raw, Options(style=style)) for style in STYLES]
    outcomes: list[Outcome] = []
    try:
        outcomes.extend(pool.map(jobs))
    except RuntimeError:
        if not late.is_set():  # else the pool starts no worker for the next target
            raise
    finally:
        timer.cancel()
        pool.close()
    if late.is_set():
        outcomes = [
            Outcome(Status.ERROR, f"left alone: it took longer than {seconds:g} seconds")
        ] * len(jobs)
    return {style: _answer(raw, one) for style, one in zip(STYLES, outcomes, strict=True)}


def _answer(raw: bytes, outcome: Outcome) -> dict[str, Any]:
    new = raw if outcome.new is None else outcome.new
    return {
        "code": new.decode("utf-8", "replace"),
        "diff": unified(_NAME, raw, new).decode("utf-8", "replace"),
        "findings": [
            {
                "line": remark.place.line,
                "severity": remark.severity,
                "rule": remark.rule,
                "message": remark.said,
            }
            for remark in outcome.remarks
        ],
        "error": outcome.message,
    }


class Playground(ThreadingHTTPServer):
    """The server; :attr:`address` is the page's, with the secret in it."""

    daemon_threads = True

    def __init__(self, folder: Path, version: str, port: int = 0) -> None:
        """Listen.

        Args:
            folder: where the site is.
            version: of tdev, which the page names.
            port: where to listen; 0 for any free one.

        Raises:
            ConfigError: the port cannot be had.
        """
        self.folder = folder.resolve()
        self.secret = secrets.token_urlsafe(24)
        self.turns = threading.BoundedSemaphore(_AT_ONCE)
        templates = environment(None, None, version)
        self.page = templates.get_template("play.html.j2").render(root="", styles=_STYLE_NAMES)
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except (OSError, OverflowError) as error:
            why = str(error).rstrip(".")
            raise ConfigError(f"port {port} of 127.0.0.1 cannot be had: {why}.") from None

    @property
    def host(self) -> str:
        """The name by which a browser calls this server."""
        return f"127.0.0.1:{self.server_address[1]}"

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{self.host}/{self.secret}/play.html"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a browser that goes away while it is answered is no error."""


_STYLE_NAMES: dict[Style, str] = {
    "explicit": "tdev, call by call",
    "alias": "tdev, imports only",
    "accelerator": "torch.accelerator, without tdev",
}


class _Handler(BaseHTTPRequestHandler):
    server: Playground
    server_version = "tdev"
    sys_version = ""
    timeout = 30

    def log_message(self, format: str, *args: object) -> None:
        """Keep the terminal as it is."""

    def do_GET(self) -> None:
        path = self._path()
        if path is None:
            return
        if path == "play.html":
            self._send(HTTPStatus.OK, self.server.page.encode(), _TYPES[".html"])
            return
        file = (self.server.folder / path).resolve()
        if file.suffix not in _TYPES or not file.is_relative_to(self.server.folder):
            self._refuse(HTTPStatus.NOT_FOUND, "There is no such page.")
            return
        try:
            body = file.read_bytes()
        except OSError:
            self._refuse(HTTPStatus.NOT_FOUND, "There is no such page.")
            return
        self._send(HTTPStatus.OK, body, _TYPES[file.suffix])

    def do_POST(self) -> None:
        path = self._path()
        if path is None:
            return
        if path != "migrate" or self.headers.get("Origin") != f"http://{self.server.host}":
            self._refuse(HTTPStatus.FORBIDDEN, "Only the playground's own page may ask.")
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > LARGEST:
            self._forget(int(length) if length.isdecimal() else 0)
            self._refuse(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"At most {LARGEST:,} bytes are taken."
            )
            return
        try:
            source = self.rfile.read(int(length)).decode("utf-8")
        except UnicodeDecodeError:
            self._refuse(HTTPStatus.BAD_REQUEST, "The text is not UTF-8.")
            return
        with self.server.turns:
            answer = migrate(source)
        self._send(HTTPStatus.OK, json.dumps(answer).encode(), _TYPES[".json"])

    def _forget(self, length: int) -> None:
        """Read a text that is too long and keep nothing: a browser hears no answer before it has sent all."""
        left = min(length, _FORGOTTEN)
        while left > 0 and (part := self.rfile.read(min(left, 1 << 16))):
            left -= len(part)

    def _path(self) -> str | None:
        """Return the path below the secret, or answer that there is nothing."""
        first, _, rest = self.path.partition("?")[0].lstrip("/").partition("/")
        ours = secrets.compare_digest(first.encode(), self.server.secret.encode())
        if not ours or self.headers.get("Host") != self.server.host:
            self._refuse(HTTPStatus.NOT_FOUND, "There is no such page.")
            return None
        return rest or "index.html"

    def _refuse(self, status: HTTPStatus, words: str) -> None:
        self.close_connection = True  # a body that nobody has read may follow
        self._send(status, f"{words}\n".encode(), _TYPES[".txt"])

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)


def serve(folder: Path, version: str, port: int, opened: Callable[[str], None]) -> int:
    """Serve until Ctrl-C, and return 0; ``opened`` is told the address.

    Raises:
        ConfigError: the port cannot be had.
    """
    with Playground(folder, version, port) as server:
        opened(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass
    return 0
