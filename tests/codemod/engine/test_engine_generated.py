"""What is generated for the engine is fresh: the facts about torch and the rules' pages."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import torch

from tests.forkserver import environment, python

ROOT = Path(__file__).resolve().parents[3]
NAMES = ROOT / "tdev_core/codemod/engine/names.json"


def _generate(*args: str) -> subprocess.CompletedProcess[str]:
    return python("-m", *args, env=environment(), cwd=ROOT)


def test_names_are_those_of_the_installed_torch() -> None:
    recorded = json.loads(NAMES.read_text(encoding="utf-8"))["version"]
    if torch.__version__.split("+")[0] != recorded:
        pytest.skip(f"names.json was introspected from torch {recorded}")
    result = _generate("generator.codemod", "--check")
    assert result.returncode == 0, result.stdout + result.stderr


def test_rule_pages_are_those_of_the_rules() -> None:
    result = _generate("tools.pages", "--check")
    assert result.returncode == 0, result.stdout + result.stderr


def test_generic_names_exist() -> None:
    """`--target accelerator` must not call what torch does not have."""
    replacements = json.loads(NAMES.read_text(encoding="utf-8"))["accelerator"]
    if not hasattr(torch, "accelerator"):
        pytest.skip("this torch has no torch.accelerator")
    for entry in replacements.values():
        value: object = torch
        for part in entry["name"].split(".")[1:]:
            value = getattr(value, part)
