"""What tools/environment.py says when it cannot set up, and what the type check leaves out."""

from __future__ import annotations

import http.server
import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools import environment, progress, typecheck


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("Retrying after connection broken by 'NewConnectionError'", "Check the network"),
        ("socket.gaierror: Temporary failure in name resolution", "Check the network"),
        ("ERROR: No matching distribution found for torch==2.13.0", "Python 3.10 to 3.14"),
        ("OSError: [Errno 28] No space left on device", "The disk is full"),
        ("The virtual environment was not created: ensurepip is not available", "python3-venv"),
        ("something that nobody has thought of", "goes on where it stopped"),
    ],
)
def test_advice_fits_the_failure(said: str, advice: str) -> None:
    text = environment._explain(progress.StepFailed(["pip", "install"], 1, said))
    assert said in text
    assert advice in text


class Index(http.server.BaseHTTPRequestHandler):
    """A package index that answers, or one that takes its time until the test is over."""

    released = threading.Event()

    def do_GET(self) -> None:
        if self.path.startswith("/slow"):
            self.released.wait(60)
        self.send_response(404 if self.path.startswith("/gone") else 200)
        self.end_headers()
        self.wfile.write(b"<a href='torch-2.13.0+cpu.whl'>torch</a>")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Its address, on a Linux without an NVIDIA driver whose user has told pip nothing."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(environment, "_has_nvidia_driver", lambda: False)
    Index.released.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    monkeypatch.setattr(environment, "CPU_INDEX", url)
    yield url
    Index.released.set()
    server.shutdown()
    server.server_close()


def source() -> list[str]:
    return environment._source_of_torch(Path(sys.executable))


def test_without_a_driver_torch_comes_without_cuda(
    index: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert source() == ["--extra-index-url", index]
    assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.parametrize("path", ["/slow", "/gone"])
def test_an_index_that_does_not_answer_in_time_is_passed_over(
    path: str, index: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(environment, "CPU_INDEX", index + path)
    monkeypatch.setattr(environment, "_ANSWERS_WITHIN_S", 0.5)
    assert source() == []
    told = capsys.readouterr().out
    assert told.count("\n") == 1 and "did not answer" in told


def test_an_index_that_refuses_is_passed_over(
    index: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        monkeypatch.setattr(environment, "CPU_INDEX", f"http://127.0.0.1:{nobody.getsockname()[1]}")
        assert source() == []
    assert "did not answer" in capsys.readouterr().out


@pytest.mark.parametrize(
    "variable", ["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"]
)
def test_what_the_user_has_told_pip_decides(
    variable: str, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "1" if variable == "PIP_NO_INDEX" else "https://example.org")
    assert source() == []


def test_what_is_in_pips_files_decides(
    index: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "pip.conf"
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))
    file.write_text("[global]\ntimeout = 60\n")
    assert source() != []
    file.write_text("[global]\nindex-url = https://example.org/simple\n")
    assert source() == []


@pytest.mark.parametrize(("platform", "driver"), [("linux", True), ("darwin", False)])
def test_with_a_driver_or_elsewhere_nothing_is_asked(
    platform: str, driver: bool, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(environment, "_has_nvidia_driver", lambda: driver)
    assert source() == []


def test_pip_is_told(index: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(environment, "VENV", tmp_path)
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    monkeypatch.setattr(environment, "venv_python", lambda: Path(sys.executable))
    monkeypatch.setattr(environment, "_fingerprint", lambda: "")
    monkeypatch.setattr(environment, "_usable", lambda python: True)
    monkeypatch.setattr(
        environment, "_pip_install", lambda p, t, arguments: asked.append(arguments)
    )
    environment.ensure("dev")
    assert asked[0][:2] == ["--extra-index-url", index]
    assert index not in asked[1]  # torch is there by then


def test_a_failing_step_keeps_its_output(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('before'); import sys; sys.exit('broken')"]
    with pytest.raises(progress.StepFailed) as caught:
        progress.run_quietly("step", command, cwd=tmp_path)
    assert caught.value.status == 1
    assert caught.value.output.splitlines() == ["before", "broken"]


def test_a_step_returns_what_it_printed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('one'); print('two')"]
    assert progress.run_quietly("step", command, cwd=tmp_path) == "one\ntwo"


def test_an_environment_of_another_place_is_made_anew(tmp_path: Path) -> None:
    python = environment.venv_python(tmp_path / "venv")
    assert not environment._usable(python)
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)  # works, but is not the one for this place
    assert not environment._usable(python)


def test_the_fingerprint_follows_what_is_installed_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in environment.INSTALLED_FROM:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a", encoding="utf-8")
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    first = environment._fingerprint()
    assert environment._fingerprint() == first
    for name in environment.INSTALLED_FROM:
        (tmp_path / name).write_text("b", encoding="utf-8")
        assert environment._fingerprint() != first
        (tmp_path / name).write_text("a", encoding="utf-8")


def test_only_stubs_beside_a_module_are_left_out(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "inner").mkdir(parents=True)
    for name in (
        "a.py",
        "a.pyi",
        "only.pyi",
        "py.typed",
        "inner/__init__.py",
        "inner/__init__.pyi",
    ):
        (source / name).touch()
    target = tmp_path / "target"
    (target / "stale").mkdir(parents=True)
    typecheck.copy_without_stubs(source, target)
    left = {p.relative_to(target).as_posix() for p in target.rglob("*")}
    assert left == {"a.py", "only.pyi", "py.typed", "inner", "inner/__init__.py"}


BOTH_FORMS = """\
if _torch_release >= (2, 14):

    def compile(model, name):
        return _torch.compile(model, name)

elif _torch_release >= (2, 12):

    def compile(model):
        return _torch.compile(model)


# Torch 2.14 and newer.
@staticmethod
def hook(fn):
    \"\"\"Say.\"\"\"
    return _torch.hook(fn)


# Torch 2.12 and older.
class Gone:
    def go(self):
        return _torch.gone()


def stays():
    return _torch.stays()
"""


@pytest.mark.parametrize(
    ("release", "called"),
    [
        ((2, 15), ["compile(model, name)", "hook(fn)", "stays()"]),
        ((2, 13), ["compile(model)", "stays()"]),
        ((2, 12), ["compile(model)", "gone()", "stays()"]),
        ((2, 11), ["gone()", "stays()"]),
    ],
)
def test_only_what_the_installed_torch_runs_is_typed(
    release: tuple[int, int], called: list[str]
) -> None:
    text = typecheck.for_torch(BOTH_FORMS, release)
    compile(text, "a.py", "exec")
    assert [
        line.partition("_torch.")[2] for line in text.splitlines() if "_torch." in line
    ] == called
    last = text.splitlines().index("    return _torch.stays()")
    assert last == BOTH_FORMS.splitlines().index("    return _torch.stays()")
