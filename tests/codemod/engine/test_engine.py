"""The engine's promises that no single case shows: spans, errors, laziness, the prefilter."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tdev_core.codemod.engine import (
    STYLES,
    Edit,
    Names,
    Options,
    SyntaxError_,
    may_concern,
    rewrite,
)
from tdev_core.codemod.engine.registry import RULES
from tdev_core.codemod.engine.triage.concern import Concern, concern
from tdev_core.codemod.output import about

NAMES = Names.load()
ROOT = Path(__file__).parents[3]
CASES = Path(__file__).parents[1] / "cases"
SOURCE = """\
import torch


def f(x, device):
    if device.type == "cuda" and x.is_cuda:
        torch.cuda.synchronize()
    return torch.zeros(x.shape[0], device=torch.device("cuda"))
"""


def apply(source: str, edits: tuple[Edit, ...]) -> str:
    """The edits' effect, from their lines and columns alone."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    result, at = [], 0
    for edit in edits:
        start = starts[edit.line - 1] + edit.column - 1
        end = starts[edit.end_line - 1] + edit.end_column - 1
        assert source[start:end] == edit.before
        assert start >= at
        result += [source[at:start], edit.after]
        at = end
    return "".join([*result, source[at:]])


@pytest.mark.parametrize("style", STYLES)
def test_edits_say_exactly_what_changed(style: str) -> None:
    result = rewrite(SOURCE, NAMES, Options(style=style))  # type: ignore[arg-type]
    assert result.code != SOURCE
    assert apply(SOURCE, result.edits) == result.code
    assert all(e.rule in {r.id for r in RULES} for e in result.edits)


def test_a_comparison_keeps_the_edits_inside_it() -> None:
    source = 'import torch\nok = torch.device("cuda", torch.cuda.current_device()).type == "cuda"\n'
    result = rewrite(source, NAMES, Options())
    assert [e.rule for e in result.edits] == ["import", "comparison"]
    assert "tdev.cuda.current_device()" in result.code and "torch" not in result.code


def test_a_byte_order_mark_stays_first() -> None:
    result = rewrite("\ufeffimport torch\ntorch.cuda.init()\n", NAMES, Options())
    assert result.code == "\ufeffimport tdev\ntdev.cuda.init()\n"
    assert result.edits[0].line == 1 and result.edits[0].column == 8


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_added_lines_use_the_files_newline(newline: str) -> None:
    source = newline.join(["import torch", "x = torch.ones(1)", "torch.cuda.init()", ""])
    result = rewrite(source, NAMES, Options())
    wanted = ["import tdev", "import torch", "x = torch.ones(1)", "tdev.cuda.init()", ""]
    assert result.code == newline.join(wanted)


def test_python_2_is_a_syntax_error_with_a_place() -> None:
    with pytest.raises(SyntaxError_) as caught:
        rewrite("import torch\nprint torch.cuda.is_available()\n", NAMES, Options())
    assert caught.value.line == 2
    assert caught.value.column >= 1
    assert caught.value.message


def test_what_does_not_parse_is_never_silent() -> None:
    with pytest.raises(SyntaxError_):
        rewrite("import torch\nx = torch.zeros(device='cuda'\n", NAMES, Options())


SHIPPED = Path(sys.modules[Names.__module__].__file__ or "").with_name("names.json")


def test_names_file_with_an_unknown_key(tmp_path: Path) -> None:
    path = tmp_path / "names.json"
    path.write_text(json.dumps({**json.loads(SHIPPED.read_text(encoding="utf-8")), "extra": 1}))
    with pytest.raises(ValueError, match="names.json: a names file has the keys"):
        Names.load(path)


def test_names_file_of_another_shape(tmp_path: Path) -> None:
    data = json.loads(SHIPPED.read_text(encoding="utf-8"))
    data["accelerator"] = {"torch.cuda.init": {"nam": "x"}}
    path = tmp_path / "names.json"
    path.write_text(json.dumps(data))
    with pytest.raises(ValueError, match="not a names file"):
        Names.load(path)


def test_importing_the_interface_needs_neither_torch_nor_libcst() -> None:
    code = (
        "import sys; import tdev_core.codemod.engine as a; a.may_concern(b''); a.Names.load();"
        "sys.exit(any(m.split('.')[0] in ('torch', 'libcst', 'tdev') for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_rewriting_needs_no_torch() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from tdev_core.codemod.engine import *\n"
        "r = rewrite('import torch\\ntorch.cuda.init()\\n', Names.load(), Options())\n"
        "sys.exit(r.code != 'import tdev\\ntdev.cuda.init()\\n')"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize(
    ("raw", "answer"),
    [
        (b"", False),
        (b"import numpy as np\nx = np.zeros(3)\n", False),
        (b"import torch\nx = torch.zeros(3)\n", False),
        (b"import torch\nx = torch.zeros(3, device=d)\n", True),
        (b"import torch\nx = torch.load(p)\n", True),
        (b"x.is_cuda\n", True),
        (b"init(backend='nccl')\n", True),
        (b"\xff\xfe\x00cuda", True),
    ],
)
def test_prefilter(raw: bytes, answer: bool) -> None:
    assert may_concern(raw) is answer


@pytest.mark.parametrize(
    ("source", "answer"),
    [
        ("import torch\nx = torch.zeros(3, device='cpu')\n", "no"),
        ("import torch\nx = torch.zeros(3, device=device)\n", "device"),
        ("import torch\ndef f(device): return torch.ones(3, device=device)\n", "device"),
        ("import torch\ndef f(device: str): return torch.ones(3, device=device)\n", "device"),
        ("import torch\ndevice, n = pick()\nx = torch.ones(n, device=device)\n", "device"),
        ("import torch\ndd = {'device': device}\nx = torch.ones(3, **dd)\n", "device"),
        ("from torch import ones\nx = ones(3, device=find())\n", "device"),
        ("import torch\nx = build(3, device=device)\n", "no"),
        ("import torch\ndevice = x.device\ny = torch.ones(3, device=device)\n", "no"),
        ("import torch\ndef f(device: torch.device): torch.ones(3, device=device)\n", "no"),
        ("import torch\nx = torch.ones(3, device=self._execution_device)\n", "no"),
        ("import torch\nx.to(cfg['device'])\n", "device"),
        ("import torch\nx = torch.zeros(3, device=0)\n", "device"),
        ("import torch\nx = torch.zeros(3, device=args.device)\n", "device"),
        ("import torch\n# args.device\nx = torch.zeros(3, **kw)\n", "no"),
        ("import torch\nx = torch.device('cpu')\n", "no"),
        ("import torch\nx = torch.device(name)\n", "device"),
        ("import torch as th\nx = th.device(name)\n", "device"),
        ("import torch\ndef f(x: torch.device): pass\n", "no"),
        ("import torch\nadd('--on', type=torch.device)\n", "device"),
        ("import torch\nx = torch.load(p)\n", "device"),
        ("from torch import load as read\nx = read(p)\n", "device"),
        ("import torch\nx = y.cuda()\n", "cuda"),
        ("# cuda\nimport torch\n", "no"),
        ('"""torch.device(x) is cuda"""\nimport torch\n', "no"),
        ('import torch\nx = """cuda"""\n', "cuda"),
        ('import torch\n\n\ndef f(\n    x,\n) -> int:  # why\n    r"""cuda"""\n', "no"),
        ('# why\n\n"""cuda"""\nimport torch\n', "no"),
        ('import torch\nf(\n    """cuda"""\n)\n', "cuda"),
        ('import torch\nx = {1:\n    """cuda"""}\n', "cuda"),
        ("import numpy, torch\nx = numpy.load(p)\n", "no"),
        ("import torch\nx = (torch.cuda\n", "cuda"),
        # words in strings and comments that look like code
        ("import torch\na = c['lambda']\nx = torch.ones(3, device=device)\nif x: pass\n", "device"),
        ("import torch\na = 'def g('\nx = torch.ones(3, device=device)\n", "device"),
        ("import torch\nx = torch.ones(  # (\n    3, device=device)\n", "device"),
        ("from torch import (\n    nn,  # (a)\n    ones,\n)\nx = ones(3, device=d)\n", "device"),
        ("from torch import nn, \\\n    ones\nx = ones(3, device=d)\n", "device"),
        # ways to bind a name that was a device's before
        ("import torch\nd = x.device\nif n: d = m\ny = torch.ones(3, device=d)\n", "device"),
        ("import torch\nd = x.device\nif (d := m): pass\ny = torch.ones(3, device=d)\n", "device"),
        ("import torch\nd = x.device\n[a, d] = m\ny = torch.ones(3, device=d)\n", "device"),
        (
            "import torch\nd = x.device\nfor a, (d, b) in m: pass\ny = torch.ones(3, device=d)\n",
            "device",
        ),
        ("import torch\nx = torch.ones (3, device=device)\n", "device"),
        ("import torch\nx = torch.Generator(name)\n", "device"),
        ("import torch\nx.to(args.train_device)\n", "device"),
        ("import torch\nx.to(cfg['train'].device)\n", "device"),
        # layers take any device that is one; a dictionary matters where torch's functions get it
        ("from torch import nn\nx = nn.Linear(3, 3, device=device)\n", "no"),
        ("from torch import zeros as Zeros\nx = Zeros(3, device=device)\n", "device"),
        ("from torch import nn\nd = {'device': device}\nx = nn.Linear(3, 3, **d)\n", "no"),
        ("from torch import nn\nd = dict(device=device)\nx = {**d, 'y': nn.ReLU()}\n", "no"),
        ("import torch\nd = {'device': device}\nx = torch.ones(3, **d)\n", "device"),
        ("import torch\nd = dict(device=device)\nx = torch.ones(3, **d)\n", "device"),
        ("import torch\nx = torch.ones(3, **{'device': device})\n", "device"),
        ("import torch\nd = {'device': device}\nx = partial(torch.ones, 3, **d)\n", "device"),
        # what is loaded to the CPU, by a name or by its place
        ("import torch\nx = torch.load(p, map_location='cpu')\n", "no"),
        (
            "import torch\nx = torch.load(open(p, 'rb'), lambda to, at: to, weights_only=True)\n",
            "no",
        ),
        ("import torch\nx = torch.load(p, map_location=lambda to, at: other)\n", "device"),
        ("import torch\nx = torch.load(p, 'cpu'), torch.load(q)\n", "device"),
        ("import torch\nx = torch.hub.load_state_dict_from_url(p, 'cpu')\n", "device"),
        # the program's own functions, beside torch's that are told what Python's tree shows to be real
        (
            "import torch\nx = torch.ones(3, device=torch.cat(y).device)\nz = zeros(device=d)\n",
            "device",
        ),
        ("import torch\nx = torch.ones(3, device=torch.cat(y).device)\nself.f(device=d)\n", "no"),
        (
            "import torch\nx = torch.ones(3, device=torch.cat(y).device)\nz = f(device=d)\ndef f(device): 0\n",
            "no",
        ),
        (
            "from a import torch\nx = torch.ones(3, device=torch.cat(y).device)\ntorch.z(device=d)\n",
            "device",
        ),
    ],
)
def test_triage(source: str, answer: Concern) -> None:
    assert concern(source) == answer


def test_triage_never_hides_a_change() -> None:
    """Whatever a case changes must get past the cheap look."""
    for path in sorted(CASES.glob("*/*/*.in.py")):
        assert concern(path.read_bytes().decode()) != "no", path


def test_findings_are_of_rules_that_have_a_page() -> None:
    result = rewrite("import torch\nimport pynvml\nx.is_cuda\n", NAMES, Options())
    assert len(result.findings) == 2
    assert all(about.page(f.rule) for f in result.findings)


def test_rules_are_told_apart_and_described() -> None:
    ids = [rule.id for rule in RULES]
    assert len(ids) == len(set(ids))
    assert all(len(rule.doc.split()) > 15 and rule.title for rule in RULES)


def test_init_files_keep_their_imports() -> None:
    """Another module may import torch from a package's ``__init__``."""
    source = "import torch\ntorch.cuda.init()\n"
    result = rewrite(source, NAMES, Options(), filename="pkg/__init__.py")
    assert result.code == "import tdev\nimport torch\ntdev.cuda.init()\n"


def test_annotate_twice_says_it_once() -> None:
    options = Options(annotate=True)
    once = rewrite("import torch\nif x.is_cuda: pass\nif y.is_cuda: pass\n", NAMES, options).code
    assert once.count("# tdev: ") == 2
    assert rewrite(once, NAMES, options).code == once


@pytest.mark.parametrize("newline", ["\n", "\r", "\r\n"])
def test_a_line_that_is_broken_keeps_its_own_kind_of_end(newline: str) -> None:
    """A file may have several."""
    line = '    ok = "cuda" in str(torch.device("cuda", torch.cuda.current_device()))'
    source = f"import torch\nclass A:{newline}{line}{newline}    pass{newline}"
    code = rewrite(source, Names.load(), Options()).code
    first, _, rest = code.partition("\n")
    assert first == "import tdev" and rest.count("    ") > 3
    assert re.findall(r"\r\n|\r|\n", rest) == [newline] * 5
    assert rest.endswith(f"){newline}    pass{newline}")


def test_notes_of_an_earlier_run_are_no_words_of_the_program() -> None:
    """A note about cupy, which speaks of CUDA, stands right below a question."""
    source = (
        "import torch\ndef f(x):\n    y = torch.ones(1).is_cuda\n    import cupy\n    return y\n"
    )
    options = Options(style="alias", annotate=True)
    code = rewrite(source, Names.load(), options).code
    assert "# tdev: cuda-only-import: " in code
    assert rewrite(code, Names.load(), options).code == code
