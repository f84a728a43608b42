"""Lines that have become too long are broken where a formatter breaks them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys

import pytest

from tdev_core.codemod.engine import Names, Options, rewrite
from tdev_core.codemod.engine.rules.accelerator.wrapping import wrapped


def test_what_is_called_on_a_result_stays_on_its_line() -> None:
    line = "    values = stack(current_tokens, lengths=[longest]).to(device)"
    assert wrapped(line, 50) == [
        "    values = stack(",
        "        current_tokens, lengths=[longest]",
        "    ).to(device)",
    ]


@pytest.mark.parametrize("word", ["if", "else"])
def test_part_of_a_choice_is_broken_in_its_brackets(word: str) -> None:
    """A test, or the last arm, of ``a if … else b`` that has a line of its own."""
    line = f"    {word} any(is_accelerator(t.device.type) for t in values if isinstance(t, Tensor))"
    assert wrapped(line, 80, True) == [
        f"    {word} any(",
        "        is_accelerator(t.device.type) for t in values if isinstance(t, Tensor)",
        "    )",
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            'self.device = device or ("first_of_them" if is_available() else "cpu")',
            [
                "self.device = device or (",
                '    "first_of_them" if is_available() else "cpu"',
                ")",
            ],
        ),
        (
            "if self.compiled and isinstance(the_device, (torch.device, str)):",
            ["if self.compiled and isinstance(", "    the_device, (torch.device, str)", "):"],
        ),
        (
            "kind = device or name or compute_it(first_device, second_device)",
            [
                "kind = (",
                "    device",
                "    or name",
                "    or compute_it(first_device, second_device)",
                ")",
            ],
        ),
        (
            "kind = device or compute_it(first_device, second_device).type",
            ["kind = (", "    device or compute_it(first_device, second_device).type", ")"],
        ),
    ],
)
def test_one_operator_needs_no_brackets_of_its_own(line: str, expected: list[str]) -> None:
    """As Black and Ruff have it, where what follows the operator ends with brackets."""
    assert wrapped(line, 60) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            'device_name = a_device_name or table_of_devices["cuda_and_so"]',
            [
                "device_name = (",
                '    a_device_name or table_of_devices["cuda_and_so"]',
                ")",
            ],
        ),
        (
            "device_names = a_device_name or [first_of_all, second_of_all]",
            [
                "device_names = a_device_name or [",
                "    first_of_all,",
                "    second_of_all,",
                "]",
            ],
        ),
        (
            "name = device_name or get_device(first_device_name_of_them)",
            ["name = device_name or get_device(", "    first_device_name_of_them", ")"],
        ),
    ],
)
def test_the_last_brackets_may_be_of_another_kind(line: str, expected: list[str]) -> None:
    """As Black and Ruff have it: never in a subscript, and a list one by one."""
    assert wrapped(line, 58) == expected


def _formatted(source: str) -> str:
    """Return what Ruff's formatter makes of a text."""
    ruff = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", "60", "-"]
    return subprocess.run(ruff, input=source, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "statement",
    [
        'log(f"{torch.cuda.max_memory_allocated() / 1024:.2f} N")',
        "peak = torch.cuda.max_memory_allocated() + N",
        "return torch.cuda.max_memory_allocated() + N",
        "while torch.cuda.is_available() and N:\n        pass",
        "for each in torch.cuda.current_device(), N:\n        pass",
        "devices = [torch.cuda.current_device() for _ in N]",
        "values.append(torch.cuda.device_count() + N, 3)",
        "values.append(torch.cuda.device_count(), b)",
        "if not (N and torch.cuda.is_available()):\n        pass",
        "wanted = (N or torch.cuda.is_available()) and why",
        "moved = (torch.zeros(3, device='cuda') + N).mean()",
        "wanted = names or (N, torch.cuda.is_available())",
        "wanted = 'a' in (N, torch.cuda.get_device_name())",
        "wanted = (N, the_name_of, torch.cuda.device_count())",
        "return sum(torch.cuda.device_count() for _ in N)",
        "wanted = (N + torch.cuda.device_count()) * two",
        "wanted = (N if torch.cuda.is_available() else b).strip()",
        "state = torch.zeros(N, device=device)",
        "return torch.zeros(N, device=device)",
        "values = torch.zeros(N, device=device)[0]",
        "with torch.cuda.device(N):\n        pass",
    ],
)
def test_what_fits_again_is_joined_as_a_formatter_does(statement: str) -> None:
    """``tdev`` is shorter than ``torch`` by a letter: each statement is too long by one."""
    first = f"    {statement}".partition("\n")[0]
    statement = re.sub(r"\bN\b", "n" * (62 - len(first)), statement)
    source = _formatted(f"import torch\n\n\ndef f():\n    {statement}\n")
    result = rewrite(source, Names.load(), Options(line_length=60))
    assert "tdev." in result.code
    assert ast.dump(ast.parse(result.code.replace("tdev", "torch"))) == ast.dump(ast.parse(source))
    assert _formatted(result.code) == result.code
    assert rewrite(result.code, Names.load(), Options(line_length=60)).code == result.code


@pytest.mark.parametrize("letters", range(1, 12))
@pytest.mark.parametrize(
    "statement",
    [
        "it.got = torch.device('c') if torch.cuda.is_available() else N",
        "return torch.cuda.is_available() and torch.device(b) or N",
        "call_of(torch.cuda.current_device(), keyword=the_name, N)",
    ],
)
def test_parts_that_fit_again_are_joined_as_a_formatter_does(statement: str, letters: int) -> None:
    """Where each has a line in the brackets, since all of them were too long for one."""
    if "call_of(" in statement:
        statement = statement.replace(", N", ", other=N")
    source = _formatted(
        f"import torch\n\n\ndef f():\n    {statement.replace('N', 'n' * letters)}\n"
    )
    result = rewrite(source, Names.load(), Options(line_length=60))
    assert "tdev." in result.code
    assert _formatted(result.code) == result.code
