"""Small programs, what the codemod makes of each, and where it says something: places at which one word decides."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tdev_core.codemod.engine import STYLES, Names, Options, Style, rewrite

NAMES = Names.load()
TOOL = "nvidia-smi "


@dataclass(frozen=True)
class Program:
    """One source; the lines of the result, all of them or those that changed; findings as ``rule line``."""

    source: str
    changed: dict[int, str]
    findings: tuple[str, ...] = ()
    style: Style = "accelerator"


def torch_program(
    source: str, changed: dict[int, str], *findings: str, style: Style = "accelerator"
) -> Program:
    """Lines are those behind the import of torch, from 1."""
    return Program(source, changed, findings, style)


PROGRAMS = {
    "a command of 199 characters is read, one of 200 is text": torch_program(
        "".join(f"subprocess.run('{TOOL + 'q' * (n - len(TOOL))}')\n" for n in (199, 200, 201)),
        {},
        "nvidia-tool 1",
        style="explicit",
    ),
    "a literal behind or": torch_program(
        "device = a.device or 'cuda:0'\ng(a.device or 'cuda:0')\nname = a.name or 'cuda:1'\n",
        {},
        "accelerator-gap 1",
        "accelerator-gap 2",
        "accelerator-gap 3",
    ),
    "a bracket in a comment closes nothing": torch_program(
        "y = (x.device.type  # a ) here\n     ) == 'cuda'\nz = (x.device.type) == ('cuda')\n",
        {3: "z = tdev.is_accelerator(x.device.type)"},
        "comparison 1",
        style="explicit",
    ),
    "names of torch's library are private": torch_program(
        "torch._C._cudart.cudaGetErrorString(1)\ntorch._C._cuda_getDevice()\ntorch._C._log_api()\n",
        {},
        "private-name 1",
        "private-name 2",
        style="explicit",
    ),
    "a file that says CUDA stays": torch_program(
        "if torch.cuda.is_available():\n    x.cuda()\nprint('CUDA is there')\n",
        {},
        "accelerator-gap 1",
    ),
    "an early exit makes what follows certain": torch_program(
        "def f():\n"
        "    if not torch.cuda.is_available():\n"
        "        return\n"
        "    d = 'cuda'\n"
        "def g():\n"
        "    x.to('cuda')\n",
        {
            2: "    if not torch.accelerator.is_available():",
            4: "    d = torch.accelerator.current_accelerator().type",
            6: "    x.to(torch.accelerator.current_accelerator())",
        },
    ),
    "a loop asks by what it counts, and nothing else does": torch_program(
        "for i in devices:\n"
        "    d = 'cuda:0'\n"
        "for i in range(torch.cuda.device_count()):\n"
        "    d = 'cuda:0'\n"
        "for i in range(3):\n"
        "    d = 'cuda:0'\n",
        {},
        "accelerator-gap 2",
        "accelerator-gap 3",
        "accelerator-gap 6",
    ),
    "a loop over devices asks for them": torch_program(
        "for i in range(torch.cuda.device_count()):\n    d = 'cuda:0'\n",
        {
            1: "for i in range(torch.accelerator.device_count()):",
            2: "    d = f'{torch.accelerator.current_accelerator().type}:0'",
        },
    ),
}


def rewritten(program: Program) -> tuple[str, list[str]]:
    found = rewrite("import torch\n" + program.source, NAMES, Options(style=program.style))
    return found.code, [f"{one.rule} {one.line - 1}" for one in found.findings]


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    program = PROGRAMS[name]
    code, findings = rewritten(program)
    expected = program.source.splitlines()
    for line, text in program.changed.items():
        expected[line - 1] = text
    lines = [line for line in code.splitlines() if line not in ("import torch", "import tdev")]
    assert lines == expected
    assert findings == list(program.findings)


TOPS = {
    "a relative import": ("from . import a\nfrom .b import c\n", 0),
    "an absolute import": ("from a import b\n", 0),
    "a docstring and a future": (
        '"""Doc."""\nfrom __future__ import annotations\nfrom .b import c\nimport os\n',
        4,
    ),
    "a docstring": ('"""Doc."""\n\nfrom . import a\n', 2),
    "a future": ("from __future__ import annotations\nfrom . import a\n", 1),
}


@pytest.mark.parametrize("name", TOPS)
def test_where_tdev_is_imported_in_a_file_that_imports_no_torch(name: str) -> None:
    top, line = TOPS[name]
    source = top + "if x.device.type == 'cuda':\n    pass\n"
    lines = rewrite(source, NAMES, Options()).code.splitlines()
    expected = source.replace("x.device.type == 'cuda'", "tdev.is_accelerator(x.device.type)")
    assert lines.pop(line) == "import tdev"
    if name in ("a relative import", "a docstring"):  # a block of the package's own imports
        assert lines.pop(line) == ""
    assert lines == expected.splitlines()


@pytest.mark.parametrize(
    "imported",
    [
        "from tdev import cuda",
        "import tdev.cuda as cuda",
        "from torch import cuda",
        "import torch.cuda as cuda",
    ],
)
def test_an_import_of_either_package_is_one_of_torchs(imported: str) -> None:
    """In each style the slice that is parsed says what the whole says."""
    for style in STYLES:
        alone = rewrite(f"{imported}\ncuda.synchronize()\n", NAMES, Options(style=style))
        among = rewrite(
            f"{imported}\n" + "def f(a):\n    return a + 1\n" * 3 + "cuda.synchronize()\n",
            NAMES,
            Options(style=style),
        )
        assert [f.rule for f in among.findings] == [f.rule for f in alone.findings]
        assert among.code.count("tdev") == alone.code.count("tdev")
        if (
            style == "accelerator"
        ):  # which has no generic name for what another package's name holds
            assert alone.findings or "torch.accelerator.synchronize()" in alone.code
        else:
            assert "tdev" in alone.code and not alone.findings
