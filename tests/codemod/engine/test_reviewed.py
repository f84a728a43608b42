"""What a cold reader of the engine got past it, once: each input with what has to come out, or must not."""

from __future__ import annotations

import ast

import pytest

from tdev_core.codemod.engine import Names, Options, rewrite
from tdev_core.codemod.engine.python.statements import BINDERS, bound_by

KNOWS_MPS = "\n\ndef pick():\n    return torch.device('mps')\n"
FREE = "\n\ndef free():\n    torch.cuda.empty_cache()\n"

# The source, what is in the result, what is not.
CASES = {
    "text with brackets of its own": (
        f'x = torch.load("{"p" * 50}") + """{{\n    x\n}}"""\n',
        '"""{\n    x\n}"""',
        '"""{x}"""',
    ),
    "import that a test looks up": (
        "import sys\nfrom unittest import mock\n\n\ndef go():\n    return torch.cuda.is_available()\n\n\n"
        'def test_go():\n    with mock.patch.object(sys.modules[__name__], "torch"):\n        assert go()\n',
        "import torch\n",
        "is_torch",
    ),
    "word that starts with cuda": (
        'def make(device="cuda"):\n    if device.startswith("cuda"):\n        return torch.zeros(3, device=device)\n'
        f"    return None\n{KNOWS_MPS}",
        "tdev.zeros(3, device=device)",
        "torch.zeros",
    ),
    "request by a flag": (
        "cuda_available = torch.cuda.is_available()\n\n\ndef made(device):\n    dev = torch.device(device)\n"
        '    if dev.type == "cuda" and not cuda_available:\n        raise RuntimeError("no")\n    return torch.zeros(3, device=dev)\n',
        "tdev.device(device)",
        " torch.device(device)",
    ),
    "request that is made again": (
        "def resolve(device):\n    one = torch.device(device)\n"
        '    if one.type == "cuda" and not torch.cuda.is_available():\n        raise RuntimeError("no")\n'
        "    again = torch.device(one)\n    return torch.zeros(3, device=again)\n",
        "not torch.cuda.is_available()",
        "not tdev.cuda.is_available()",
    ),
    "request whose type goes on": (
        "def resolve(device):\n    one = torch.device(device)\n"
        '    if one.type == "cuda" and not torch.cuda.is_available():\n        raise RuntimeError("no")\n'
        "    return torch.zeros(3, device=one.type)\n",
        "not torch.cuda.is_available()",
        "not tdev.cuda.is_available()",
    ),
    "request of a coroutine": (
        "async def resolve(device):\n    one = torch.device(device)\n"
        '    if one.type == "cuda" and not torch.cuda.is_available():\n        raise RuntimeError("no")\n    return one\n',
        "return tdev.device(one)",
        "return one\n",
    ),
    "demand of what was moved": (
        'def test_moves():\n    x = torch.zeros(3, device="cuda")\n    assert x.device.type == "cuda"\n' + KNOWS_MPS,
        "tdev.answers_cuda(x.device.type)",
        'x.device.type == "cuda"',
    ),
    "decorator that skips nothing": (
        "@torch.compile(disable=not torch.cuda.is_available())\ndef attention(q, use_flash=False):\n"
        '    return q * torch.ones(3, device="cuda")\n',
        'tdev.ones(3, device="cuda")',
        "torch.ones",
    ),
    "test where there is no CUDA": (
        'import unittest\n\n\nclass T(unittest.TestCase):\n    @unittest.skipIf(torch.cuda.is_available(), "the CPU\'s own")\n'
        '    def test_a(self):\n        self.assertNotEqual(torch.zeros(3, device="cuda").device.type, "cuda")\n',
        'tdev.zeros(3, device="cuda")',
        "torch.zeros",
    ),
    "test with a comment about a flash": (
        "import pytest\n\n\n@pytest.mark.skipif(not torch.cuda.is_available(), reason='gpu')\ndef test_a():\n"
        '    # a flash in the pan\n    torch.zeros(3, device="cuda")\n',
        'tdev.zeros(3, device="cuda")',
        "torch.zeros",
    ),
    "version that is text": (
        'TORCH_VERSION = torch.__version__.split("+")[0]\nif TORCH_VERSION < "2.2":\n    x = torch.zeros(3, device="cuda")\n',
        'tdev.zeros(3, device="cuda")',
        "torch.zeros",
    ),
    "state of one generator": (
        'def snapshot():\n    return {"cpu_rng": torch.get_rng_state(), "cuda_rng": torch.cuda.get_rng_state()}\n',
        "tdev.cuda.get_rng_state()",
        "torch.cuda.get",
    ),
    "column of a table": (
        'def train(prof):\n    use_cuda = torch.cuda.is_available()\n    device = torch.device("cuda" if use_cuda else "cpu")\n'
        '    print(prof.table(sort_by="cuda_time_total" if use_cuda else "cpu_time_total"))\n    return device\n',
        "use_cuda = tdev.cuda.is_available()",
        "torch.cuda.is_available",
    ),
    "file that a test downloads": (
        'def test_a(tmp_path):\n    path = download_checkpoint("a.pt", tmp_path)\n    assert torch.load(path)\n',
        "tdev.load(path)",
        "torch.load",
    ),
    "file beside the one that a test saves": (
        'def test_a(model, tmp_path):\n    model.save_pretrained(tmp_path)\n    torch.load(hub("org", "b.pt"))\n',
        "tdev.load(hub(",
        "torch.load",
    ),
    "own class with from_pretrained": (
        'class Enc:\n    def __init__(self, device="cuda"):\n        self.device = device\n\n    @classmethod\n'
        "    def from_pretrained(cls, path):\n        return cls()\n\n\nclass User:\n    def __init__(self, path):\n"
        "        self.enc = Enc.from_pretrained(path)\n\n    def go(self):\n        return torch.zeros(3, device=self.enc.device)\n",
        "tdev.zeros",
        "torch.zeros",
    ),
    "one arm with from_pretrained": (
        'from transformers import AutoModel\n\n\nclass User:\n    def __init__(self, path):\n        self.enc = AutoModel.from_pretrained(path) if path else Other("cuda")\n'
        "\n    def go(self):\n        return torch.zeros(3, device=self.enc.device)\n",
        "tdev.zeros",
        "torch.zeros",
    ),
    "variable that is bound again": (
        "def f(x: torch.Tensor, big):\n    use = x.is_cuda\n    several = use and big\n    if several:\n        torch.cuda.synchronize()\n"
        f'    several = big > 3\n    if several:\n        return torch.ones(3, device="cuda")\n{KNOWS_MPS}',
        'tdev.ones(3, device="cuda")',
        "torch.ones",
    ),
    "accelerator that is torch's device": (
        'if torch.cuda.is_available():\n    accelerator = "cuda"\n    model = torch.nn.Linear(1, 1).cuda()\nelse:\n    accelerator = "cpu"\n'
        "x = torch.zeros(3, device=accelerator)\n",
        "if tdev.cuda.is_available()",
        "torch.cuda.is_available",
    ),
    "constant that opens more than states": (
        "USE_CUDA = torch.cuda.is_available()\n\n\ndef save(model):\n    if USE_CUDA:\n        model.cuda()\n"
        '        states = torch.cuda.get_rng_state()\n    return {"cuda_rng_state": states}\n',
        "USE_CUDA = tdev.cuda.is_available()",
        "USE_CUDA = torch",
    ),
    "word that is a ticker": (
        f'def f(pair):\n    if torch.cuda.is_available():\n        return load(pair, "BNB").cuda()\n{FREE}',
        "if tdev.cuda.is_available()",
        "torch.cuda.is_available",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", CASES)
def test_what_a_cold_reader_got_past_the_engine(what: str) -> None:
    source, wanted, unwanted = CASES[what]
    options = Options(line_length=79)
    result = rewrite(f"import torch\n{source}", Names.load(), options).code
    ast.parse(result)
    assert wanted in result
    assert unwanted not in result
    assert rewrite(result, Names.load(), options).code == result


def test_every_kind_of_node_that_binds_a_name_is_looked_at() -> None:
    """One that :func:`bound_by` knows and the table of kinds does not would never be seen."""
    source = """
a = 1
del b
c: int = 1
d += 1
(e := 1)
for f in x: pass
with g as h: pass
import i
from j import k
def m(): pass
class n: pass
try: pass
except E as o: pass
match x:
    case [p, *q]: pass
    case {"r": s, **t}: pass
[u for u in (v := x)]
{u for u in (v := x)}
{u: 1 for u in (v := x)}
list(u for u in (v := x))
async def w():
    async for y in x: pass
    async with g as z: pass
"""
    seen = {type(node) for node in ast.walk(ast.parse(source)) if list(bound_by(node))}
    assert seen == BINDERS
