"""The playground's server: what it answers, to whom, and within which limits."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("libcst", reason="the playground needs libcst: pip install 'tdev[codemod]'")

from tdev_core.errors import ConfigError
from tdev_core.site.playground import LARGEST, Playground, migrate
from tests.forkserver import environment

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLE = re.findall(r"^```python\n(.*?)^```", README, flags=re.M | re.S)[0]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Playground]:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "index.html").write_text("<h1>home</h1>")
    (tmp_path / "secret.html").write_text("not for anybody")
    with Playground(folder, "1") as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(
    server: Playground, method: str, path: str, body: bytes | None = None, **headers: str
) -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=60)
    connection.request(method, path, body, headers)
    reply = connection.getresponse()
    found = reply.status, reply.read(), dict(reply.getheaders())
    connection.close()
    return found


def test_the_readmes_example_is_migrated_as_the_command_does(
    server: Playground, tmp_path: Path
) -> None:
    origin = f"http://{server.host}"
    status, body, _ = ask(
        server, "POST", f"/{server.secret}/migrate", EXAMPLE.encode(), Origin=origin
    )
    assert status == 200
    answer = json.loads(body)
    options = {
        "explicit": [],
        "alias": ["--style", "alias"],
        "accelerator": ["--target", "accelerator"],
    }
    for style, given in options.items():
        file = tmp_path / f"{style}.py"
        file.write_text(EXAMPLE, encoding="utf-8")
        command = [sys.executable, "-m", "tdev.codemod", "--quiet", "--force", *given]
        subprocess.run([*command, str(file)], env=environment(), capture_output=True, check=False)
        assert answer[style]["code"] == file.read_text(encoding="utf-8"), style
        assert answer[style]["code"] != EXAMPLE
        assert answer[style]["diff"].startswith("--- a/example.py\n+++ b/example.py\n@@")


def test_only_who_knows_the_secret_is_answered(server: Playground) -> None:
    assert ask(server, "GET", f"/{server.secret}/index.html")[:2] == (200, b"<h1>home</h1>")
    assert ask(server, "GET", f"/{server.secret}/")[0] == 200
    for path in ("/", "/index.html", f"/{server.secret[:-1]}/index.html", "/%ff/index.html"):
        assert ask(server, "GET", path)[0] == 404, path


@pytest.mark.parametrize(
    "path", ["../secret.html", "%2e%2e/secret.html", "none.html", "/etc/passwd"]
)
def test_nothing_outside_the_site_is_served(server: Playground, path: str) -> None:
    status, body, _ = ask(server, "GET", f"/{server.secret}/{path}")
    assert status == 404 and b"not for" not in body


def test_another_site_cannot_ask(server: Playground) -> None:
    path = f"/{server.secret}/migrate"
    assert ask(server, "POST", path, b"x")[0] == 403
    assert ask(server, "POST", path, b"x", Origin="http://evil.example")[0] == 403
    assert ask(server, "GET", f"/{server.secret}/index.html", Host="evil.example")[0] == 404


def test_a_text_has_a_largest_size(server: Playground) -> None:
    origin = f"http://{server.host}"
    path = f"/{server.secret}/migrate"
    assert ask(server, "POST", path, b"#" * (LARGEST + 1), Origin=origin)[0] == 413
    assert ask(server, "POST", path, b"#" * 5_000_000, Origin=origin)[0] == 413
    assert ask(server, "POST", path, b"\xff", Origin=origin)[0] == 400


def test_a_port_that_is_taken_is_said(server: Playground, tmp_path: Path) -> None:
    for port, words in ((server.server_address[1], "in use"), (99999, "must be 0-65535")):
        with pytest.raises(ConfigError, match=rf"cannot be had: .*{words}\.$"):
            Playground(tmp_path, "1", port)


def test_the_page_has_a_policy(server: Playground) -> None:
    status, body, headers = ask(server, "GET", f"/{server.secret}/play.html")
    assert status == 200 and b'id="source"' in body
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'")
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_what_takes_too_long_is_ended() -> None:
    answer = migrate("import torch\n" + "torch.cuda.synchronize()\n" * 5000, seconds=0.01)
    assert {one["error"] for one in answer.values()} == {
        "left alone: it took longer than 0.01 seconds"
    }


def test_a_text_that_is_no_python_is_said_to_be_none() -> None:
    answer = migrate("import torch\ntorch.cuda.synchronize(\n")
    assert "it is not Python 3" in answer["explicit"]["error"]
    assert answer["explicit"]["diff"] == ""
