"""What is kept of a search: for one device, system, torch and program, and for no other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tdev_core.errors import ConfigError
from tdev_core.measure.tuning.choices import CHOICES
from tdev_core.measure.tuning.variables import VARIABLES
from tdev_core.measure.tuning.winners import Key, here, kept, store
from tests.forkserver import environment, python

KEY = Key("mps", "Apple M3, 8 processors", "Darwin 15.1 arm64", "2.13.0", "trainäér.py")
SETTINGS = {"optimizer": "fused", "threads": "2"}


def test_what_was_kept_is_found_for_the_same_alone(tmp_path: Path) -> None:
    path = tmp_path / "wö.toml"
    store(path, KEY, SETTINGS, {"ratio": 0.5}, {"batch": "8"})
    assert kept(path, KEY) == SETTINGS
    for name in ("backend", "device", "system", "torch", "program"):
        with pytest.raises(ConfigError, match=f"its winners are of {name} "):
            kept(path, replace(KEY, **{name: "another"}))


def test_each_key_has_its_own_and_the_last_is_kept(tmp_path: Path) -> None:
    path, other = tmp_path / "w.toml", replace(KEY, backend="cpu")
    store(path, KEY, SETTINGS, {}, {})
    store(path, other, {"autocast": "bfloat16"}, {}, {})
    store(path, KEY, {}, {}, {})  # nothing helps: that is known, too
    assert kept(path, KEY) == {} and kept(path, other) == {"autocast": "bfloat16"}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("version = ", "is no TOML"),
        ("version = 7", "is of version 7, not 1"),
        ("", "is of version None"),
        ("version = 1", "has no winners"),
        ("version = 1\n[[winners]]\nbackend = 'cpu'", "lacks device, system, torch, program"),
    ],
)
def test_what_is_no_such_file_is_refused(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=said):
        kept(path, KEY)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"__import__": "os"}, "no setting is called '__import__'"),
        ({"threads": "many"}, "threads = 'many' means nothing: a number"),
        ({"compile": "print"}, "compile = 'print' means nothing"),
        ({"mps_fast_math": "1"}, "mps_fast_math = '1' means nothing: on"),
    ],
)
def test_settings_that_there_are_none_of_are_refused(
    settings: dict[str, str], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "w.toml"
    store(path, KEY, settings, {}, {})
    with pytest.raises(ConfigError, match=said):
        kept(path, KEY)


def test_files_that_cannot_be_read_or_written_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        kept(tmp_path / "none.toml", KEY)
    with pytest.raises(ConfigError, match="cannot be written"):
        store(tmp_path / "none" / "w.toml", KEY, {}, {}, {})


def test_variables_are_of_settings_that_there_are() -> None:
    assert {*VARIABLES} <= {*CHOICES}


PROGRAM = """
import tdev as torch
model = torch.nn.Linear(2, 2).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(4):
    model(torch.ones(1, 2).cuda()).sum().backward()
    optimizer.step()
print(optimizer.param_groups[0]["foreach"], optimizer.param_groups[0]["fused"], float(optimizer.state[model.weight]["step"]))
"""


def test_a_program_uses_its_winners_where_the_setting_names_them(tmp_path: Path) -> None:
    script, path = tmp_path / "program.py", tmp_path / "w.toml"
    script.write_text(PROGRAM)
    from tdev_core.backend import Backend

    store(path, here("program.py", Backend.SIM), {"optimizer": "foreach"}, {}, {})
    env = environment(TDEV_BACKEND="sim", TDEV_TUNE=str(path))
    for command in ([str(script)], ["-m", "tdev", "run", str(script)]):
        done = python(*command, env=env)
        assert (done.stdout, done.returncode) == ("True False 4.0\n", 0), done.stderr
    done = python(str(script), env={**env, "TDEV_BACKEND": "cpu"})
    assert done.returncode == 2 and "its winners are of backend 'sim', here 'cpu'" in done.stderr
    assert "Traceback" not in done.stderr
    done = python(str(script), env={**env, "TDEV_TUNE": str(tmp_path / "no.toml")})
    assert done.returncode == 2 and "cannot be read" in done.stderr


def test_no_loss_is_waited_for_where_winners_are_used(tmp_path: Path) -> None:
    """It would be a wait in each step that the program does not have."""
    from tdev_core.backend import Backend

    script, path = tmp_path / "program.py", tmp_path / "w.toml"
    script.write_text(
        PROGRAM.replace(
            "print(", "from tdev_core.accelerators.privateuse import waits\nprint(waits.total(), "
        )
    )
    counts = []
    for settings in ({}, {"set_to_none": "false"}):
        store(path, here("program.py", Backend.SIM), settings, {}, {})
        done = python(str(script), env=environment(TDEV_BACKEND="sim", TDEV_TUNE=str(path)))
        assert done.returncode == 0, done.stderr
        counts.append(int(done.stdout.split()[0]))
    done = python(str(script), env=environment(TDEV_BACKEND="sim"))
    assert counts == [int(done.stdout.split()[0])] * 2


def test_what_torch_reads_at_its_import_is_set_before(tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    store(path, replace(KEY, program="-c"), {"mps_fast_math": "on"}, {}, {})
    code = "from tdev_core.measure.tuning import variables; variables.set_early(); import os, sys; print(os.environ.get('PYTORCH_MPS_FAST_MATH'), 'torch' in sys.modules)"
    done = python("-c", code, env=environment(TDEV_TUNE=str(path)), fresh=True)
    assert done.stdout == "1 False\n", done.stderr
    path.write_text("winners = [1]")
    done = python("-c", code, env=environment(TDEV_TUNE=str(path)), fresh=True)
    assert done.stdout == "None False\n", done.stderr  # told later, by who reads all of it
