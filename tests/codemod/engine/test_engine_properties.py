"""Properties of the engine over generated programs: it parses, it is idempotent, it touches spans only.

The programs are put together from statements that the rules know, in every import form, nested
in functions, classes, conditions and ``try``, with odd spacing, comments and line ends.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tdev_core.codemod.engine import STYLES, Names, Options, Result, Style, rewrite
from tdev_core.codemod.engine.driver import apply_rules
from tdev_core.codemod.engine.triage.concern import concern

NAMES = Names.load()
COUNT = int(os.environ.get("TDEV_FUZZ_FILES", "12"))

IMPORTS = st.sampled_from(
    [
        "import torch",
        "import torch as th",
        "import torch.cuda",
        "import torch.nn, torch.cuda as tc",
        "import os, torch",
        "from torch import cuda, nn",
        "from torch import (\n{i}    nn,\n{i}    cuda,  # keep me\n{i})",
        "from torch import nn, cuda as c, optim, load",
        "from torch.cuda import Stream as S, synchronize",
        "from torch.cuda.amp import autocast",
        "import torch.distributed as dist",
        "import tdev",
        "import tdev as torch",
        "import fake as torch",
    ]
)
STATEMENTS = st.sampled_from(
    [
        "torch.cuda.synchronize()",
        "th . cuda . synchronize ( )",
        "tc.empty_cache()",
        "cuda.is_available(); c.device_count()",
        'x = torch.zeros(3, device="cuda")  # torch.cuda',
        "x = torch.zeros(n, device=device)",
        'device = "cuda" if torch.cuda.is_available() else "cpu"',
        "device = torch.device(\n{i}    f'cuda:{{rank}}'  # one of them\n{i})",
        'ok = device.type == "cuda" or not (x.device.type != "cuda")',
        'ok = (\n{i}    device.type\n{i}    == "cuda")',
        'ok = "cuda" in str(torch.device("cuda", torch.cuda.current_device()))',
        "y = torch.ones(1).is_cuda",
        "model.cuda().to('cuda')",
        "dist.init_process_group('nccl')",
        "state = torch.load('cuda.pt')",
        "with torch.cuda.stream(s), autocast(): pass",
        "s = torch.cuda.Stream()",
        "torch.cuda._lazy_init()",
        "torch = None",
        "del torch",
        "print('torch.cuda', \"cuda\")",
        "text = '''\n# tdev: keep\ntorch.cuda.init()\n'''",
        "torch.cuda.init()  # tdev: keep",
        "pipe(model, device='cuda')",
        "é = 'ü'; torch.cuda.init()",
        "lambda torch: torch.cuda.init()",
        "[torch.cuda.init() for torch in y]",
        "import cupy",
        "@torch.cuda.amp.autocast()\n{i}def g(x: 'torch.cuda.Stream', device='cuda'): return x",
        "global device",
        # parse, though Python compiles them in a function or loop only
        "return torch.zeros(3, device=choose())",
        "yield torch.cuda.current_device()",
        "await g(device='cuda')",
        "break",
        "nonlocal device",
        "def choose(): return device",
        "y = torch.zeros(3, device=choose())",
        "mock.patch('torch.cuda.is_available')",
        "if torch.cuda.is_available(): pass\n{i}elif torch.backends.mps.is_available(): pass",
    ]
)
WRAPPERS = st.sampled_from(
    [
        None,
        "def f(x, device='cuda'):",
        "class A:",
        "if torch.cuda.is_available():",
        "try:",
        "with torch.device('cuda'):",
        "async def g(*, torch=None):",
    ]
)


@st.composite
def programs(draw: st.DrawFn) -> str:
    newline = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    step = draw(st.sampled_from(["    ", "\t", "  "]))
    lines: list[str] = []
    if draw(st.booleans()):
        lines.append('"""Uses torch.cuda."""')
    for _ in range(draw(st.integers(1, 3))):
        lines.append(draw(IMPORTS).replace("{i}", ""))
    for _ in range(draw(st.integers(1, 4))):
        wrapper = draw(WRAPPERS)
        indent = step if wrapper else ""
        if wrapper:
            lines.append(wrapper)
        body = [draw(IMPORTS)] if draw(st.integers(0, 3)) == 0 else []
        body += draw(st.lists(STATEMENTS, min_size=1, max_size=4))
        for statement in body:
            if statement.startswith(("global", "nonlocal")) and not (wrapper or "").startswith(
                ("def", "async")
            ):
                continue
            lines.append(
                indent + statement.replace("{i}", indent).replace("{{", "{").replace("}}", "}")
            )
        lines.append(indent + "pass")
        if wrapper == "try:":
            lines += ["except ImportError:", step + "torch = None"]
    text = "\n".join(lines)
    text += draw(st.sampled_from(["", "\n", "\n\n"]))
    return ("\ufeff" if draw(st.integers(0, 9)) == 0 else "") + text.replace("\n", newline)


def _parses(text: str) -> bool:
    try:
        compile(text.lstrip("\ufeff"), "<program>", "exec", flags=ast.PyCF_ONLY_AST)
    except SyntaxError:
        return False
    return True


def _undo(source: str, result: Result) -> str:
    """The source again, from the result and its edits."""
    bom = source[:1] == "\ufeff"
    text = result.code[bom:]
    lines = [0, *(m.end() for m in re.finditer(r"\r\n|\r|\n", source[bom:]))]
    pieces, at, shift = [], 0, 0
    for edit in result.edits:
        start = lines[edit.line - 1] + edit.column - 1 + shift
        assert text[start : start + len(edit.after)] == edit.after
        pieces += [text[at:start], edit.before]
        at = start + len(edit.after)
        shift += len(edit.after) - len(edit.before)
    return source[:bom] + "".join([*pieces, text[at:]])


STYLE: st.SearchStrategy[Style] = st.sampled_from(STYLES)
SLOW = settings(
    max_examples=60 if COUNT <= 12 else 2000,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)


@SLOW
@given(programs(), STYLE, st.booleans())
@example(
    "import torch\nx = torch.zeros(2, device=f())\nreturn x\ndef f(): return 1", "explicit", False
)
def test_the_result_parses_and_is_stable(source: str, style: Style, annotate: bool) -> None:
    if not _parses(source):
        return
    options = Options(style=style, annotate=annotate)
    result = rewrite(source, NAMES, options)
    assert _parses(result.code)
    assert rewrite(result.code, NAMES, options).code == result.code


@SLOW
@given(programs(), STYLE)
def test_outside_the_edits_nothing_differs(source: str, style: Style) -> None:
    if not _parses(source):
        return
    result = rewrite(source, NAMES, Options(style=style))
    assert _undo(source, result) == source
    comments = re.compile(r"#[^\r\n]*")
    assert set(comments.findall(source)) <= set(comments.findall(result.code))


PROSE = st.sampled_from(
    [
        "# torch.cuda.synchronize()",
        "x = torch.zeros(n)",
        "x.to(y.device)",
        "x = torch.ones(2, device=x.device)",
        "device = pick()\nx = torch.zeros(n, device=device)",
        "model.to(args.device)",
        "state = torch.load(path)",
        "where = 'cpu'",
        "x = torch.zeros(n, device=where)",
        'x = """of cuda"""',
        "def f(x):\n    '''Runs on cuda.'''\n    return x.device",
        "def g(device: torch.device, x=None):\n    return torch.zeros(1, device=device)",
        "import torch.cuda",
        "print('cuda')",
    ]
)


@SLOW
@given(st.lists(PROSE, min_size=1, max_size=3), STYLE)
def test_the_cheap_look_agrees_with_the_rules(lines: list[str], style: Style) -> None:
    """What triage turns away, the rules would not have touched."""
    source = "\n".join(["import torch", *lines, ""])
    if concern(source, style) != "no":
        return
    result = apply_rules(source, NAMES, Options(style=style), "<program>", whole=True)
    assert result.code == source and not result.findings


def test_the_cheap_look_turns_away_some_and_not_others() -> None:
    """The programs above are of both kinds."""
    assert concern("import torch\n# torch.cuda.synchronize()\nx = torch.zeros(n)\n") == "no"
    assert concern("import torch\nx = torch.zeros(n, device=device)\n") == "device"
    assert concern("import torch\nprint('cuda')\n") == "cuda"


@SLOW
@given(programs())
def test_no_reference_to_torch_cuda_is_left_unsaid(source: str) -> None:
    """In the explicit style a call is edited, or stands in a function with a CUDA-only import."""
    source = "import torch\n" + source.lstrip("\ufeff")
    if not _parses(source) or "keep" in source:
        return
    if re.search(r"torch = None|del torch|fake as torch|tdev as torch|torch=None", source):
        return
    result = rewrite(source, NAMES, Options())
    if any(finding.rule == "cuda-only-import" for finding in result.findings) and not result.edits:
        return  # a file that cannot be imported without CUDA has one finding
    tree = ast.parse(result.code)
    functions = [
        n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    only_cuda = [function for function in functions if "import cupy" in ast.unparse(function)]
    said = sum(finding.rule == "cuda-only-import" for finding in result.findings)
    assert said >= len(only_cuda)
    kept = {node for function in only_cuda for node in ast.walk(function)}
    left = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.cuda.synchronize"
    ]
    assert kept.issuperset(left)


@pytest.mark.parametrize("style", ["explicit", "accelerator"])
def test_work_grows_with_the_text(style: Style) -> None:
    """Four times the functions run less than six times the lines; a look at all for each ran sixteen."""
    one = (
        "def f{0}(x):\n    y = x.cuda()\n    if torch.cuda.is_available():\n"
        "        torch.cuda.synchronize()\n    return y\n\n\n"
    )

    def lines(count: int) -> int:
        source = "import torch\n\n" + "".join(one.format(n) for n in range(count))
        run = 0

        def watch(_frame: FrameType, event: str, _argument: object) -> Any:
            nonlocal run
            run += event == "line"
            return watch

        before = sys.gettrace()
        sys.settrace(watch)
        try:
            rewrite(source, NAMES, Options(style=style))
        finally:
            sys.settrace(before)
        return run

    lines(1)
    assert lines(400) < 6 * lines(100)
