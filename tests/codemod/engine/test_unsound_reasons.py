"""What must not be taken for a reason to leave something: each of these was, and is migrated or told."""

from __future__ import annotations

import pytest

from tdev_core.codemod.engine import Names, Options, rewrite
from tests.codemod.small_trees import migrated

KEPT = "import triton\nimport torch\n\n\n"
STAYS = 'x.device.type == "cuda" and triton.jit'


WRAPPED = {
    "a field of a dataclass, with a default": (
        "from dataclasses import dataclass\n\nimport torch\n\n\n@dataclass(eq=False)\nclass Backend:\n    model: torch.nn.Module\n"
        '    device: str = "cpu"\n\n    def warm_up(self):\n        return torch.zeros(3, device=self.device)\n',
        "tdev.zeros(3",
    ),
    "a field of a dataclass that another one inherits": (
        "import attrs\nimport torch\n\n\n@attrs.define\nclass Backend:\n    device: str | torch.device = 'cpu'\n\n\n"
        "@attrs.define\nclass Compiled(Backend):\n    def warm_up(self):\n        return torch.zeros(3, device=self.device)\n",
        "tdev.zeros(3",
    ),
    "a parameter of the function around": (
        'import torch\n\ndevice = torch.device("cuda")\n\n\ndef choose():\n    global device\n    device = torch.device("cpu")\n\n\n'
        "def outer(device):\n    def inner():\n        return torch.zeros(3, device=device)\n\n    return inner\n",
        "tdev.zeros(3",
    ),
    "a check before a loop that gives another": (
        "import torch\n\n\ndef f(device, others):\n    assert isinstance(device, torch.device)\n    for other in others:\n"
        "        x = torch.zeros(3, device=device)\n        device = other\n    return x\n",
        "tdev.zeros(3",
    ),
    "memory that is pinned if somebody says so": (
        "import torch\n\n\ndef f(pin, device: torch.device):\n"
        '    return torch.empty(3, pin_memory=pin or device.type == "cuda")\n',
        "tdev.empty(3",
    ),
    "not None, and yet nothing": (
        f'{KEPT}def f(x):\n    ids = [0] if {STAYS} else []\n    return ids is not None and torch.zeros(3, device="cuda")\n',
        "tdev.zeros(3",
    ),
    "a field that who makes one fills": (
        f"from dataclasses import dataclass\n{KEPT}@dataclass\nclass Config:\n    fused: bool = False\n\n    def set(self, x):\n"
        f"        if {STAYS}:\n            self.fused = True\n\n    def make(self):\n"
        '        return self.fused and torch.zeros(3, device="cuda")\n',
        "tdev.zeros(3",
    ),
    "a flag of that name that another function refuses": (
        f"{KEPT}def check(opts, x):\n    if opts.cuda and not ({STAYS}):\n        raise ValueError('kernels')\n\n\n"
        'class Sampler:\n    def draw(self):\n        return self.cfg.cuda and torch.zeros(4, device="cuda")\n',
        "tdev.zeros(4",
    ),
    "a list that is filled before it is saved": (
        "import torch\n\n\nclass Kept:\n    def fill(self, net, rows):\n        found = []\n        for row in rows:\n"
        '            found.append(net(row))\n        torch.save(found, "rows.pt")\n\n'
        '    def read(self):\n        return torch.load("rows.pt")\n',
        "tdev.load(",
    ),
    "a file of another name in the same function": (
        'import torch\n\n\ndef swap(a, b):\n    torch.save(0, f"{a}.pt")\n    return torch.load(f"{b}.pt")\n',
        "tdev.load(",
    ),
    "a second value that is saved by the same name": (
        'import torch\n\n\nclass Kept:\n    def start(self):\n        torch.save(0, "state.pt")\n\n'
        '    def keep(self, net):\n        torch.save(net, "state.pt")\n\n    def read(self):\n        return torch.load("state.pt")\n',
        "tdev.load(",
    ),
    "a method called skip": (
        f'{KEPT}def f(x, it):\n    use = {STAYS}\n    if use:\n        print("fast")\n    else:\n        it.skip()\n'
        '    return torch.zeros(4, device="cuda")\n',
        "tdev.zeros(4",
    ),
    "a list with the CPU in it": (
        'import torch\n\n\ndef f(device, word):\n    ok = device in (torch.device("cpu"), torch.device("cuda"))\n'
        "    return ok and torch.zeros(3, device=word)\n",
        "tdev.zeros(3",
    ),
    "a switch of a method that need not have run": (
        f"{KEPT}class Layer:\n    def __init__(self):\n        self.fast = True\n\n    def setup(self, x):\n"
        f"        if not ({STAYS}):\n            self.fast = False\n\n    def forward(self):\n"
        '        return self.fast and torch.zeros(3, device="cuda")\n',
        "tdev.zeros(3",
    ),
    "a method of a class that a switch leaves of use": (
        f"{KEPT}class Layer:\n    def __init__(self, x):\n        self.fast = True\n        if not ({STAYS}):\n            self.fast = False\n\n"
        '    def forward(self):\n        return self.fast and self.make()\n\n    def make(self):\n        return torch.zeros(3, device="cuda")\n',
        "tdev.zeros(3",
    ),
    "a version that is told in a width": (
        'import torch\n\n\ndef note():\n    print("CUDA: {:>10}".format(torch.version.cuda))\n',
        "tdev.version.cuda",
    ),
    "a version of which a part is told": (
        'import torch\n\n\ndef note():\n    v = f"{torch.version.cuda}"\n    print(int(v.split(".")[0]) + 1)\n',
        "tdev.version.cuda",
    ),
    "moves in the try that says torch is missing": (
        "try:\n    import torch\n    one = torch.ones(1).cuda()\nexcept ImportError:\n"
        '    raise ImportError("torch is not installed")\n',
        "try:\n    import tdev",
    ),
    "a device that goes on where a word opens CUDA's arm too": (
        f'{KEPT}def put(name, always):\n    place = torch.device(name)\n    if place.type == "cuda" or always:\n'
        "        return torch.ones(3, device=place)\n    return None\n",
        "tdev.device(name)",
    ),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_it_is_no_reason(name: str) -> None:
    text, wanted = WRAPPED[name]
    assert wanted in migrated({"made.py": text}).code


_FLAG = (
    f"{KEPT}class Base:\n    fast = False\n\n    def set(self, x):\n        if {STAYS}:\n            self.fast = True\n\n"
    '    def make(self):\n        return self.fast and torch.zeros(3, device="cuda")\n'
)
_HEIR = "from .made import Base\n\n\nclass Heir(Base):\n    "
BY_ANOTHER_FILE = {
    "a variable of a module is set": (
        f"{KEPT}FAST = False\n\n\ndef set(x):\n    global FAST\n    if {STAYS}:\n        FAST = True\n\n\n"
        'def make():\n    return FAST and torch.zeros(3, device="cuda")\n',
        "from . import made\n\nmade.FAST = True\n",
    ),
    "an attribute is set by an heir's body": (_FLAG, f"{_HEIR}fast = True\n"),
    "an attribute is set by an heir's method": (
        _FLAG,
        f"{_HEIR}def __init__(self):\n        self.fast = True\n",
    ),
    "an attribute is set by a base": (
        f"from .other import Root\n{_FLAG.replace('Base:', 'Base(Root):').replace('    fast = False', '    pass')}",
        "class Root:\n    def __init__(self, fast):\n        self.fast: bool = fast\n",
    ),
    "an attribute is set from outside": (
        _FLAG,
        "from .made import Base\n\nbase = Base()\nbase.fast = True\n",
    ),
    "a method is replaced": (
        f"{KEPT}class Base:\n    def _is_fast(self, x):\n        return {STAYS}\n\n    def make(self, x):\n"
        '        return self._is_fast(x) and torch.zeros(3, device="cuda")\n',
        f"{_HEIR}def _is_fast(self, x):\n        return True\n",
    ),
    "a private method is called by an heir": (
        f'{KEPT}class Base:\n    def _make(self):\n        return torch.zeros(3, device="cuda")\n\n    def make(self, x):\n'
        f"        if {STAYS}:\n            return self._make()\n",
        f"{_HEIR}def more(self):\n        return self._make()\n",
    ),
    "a private function is imported": (
        f'{KEPT}def _make():\n    return torch.zeros(3, device="cuda")\n\n\ndef make(x):\n    if {STAYS}:\n        return _make()\n',
        "from .made import (\n    _make,\n)\n\n_make()\n",
    ),
    "a private function is told otherwise": (
        f'{KEPT}def _make(fast):\n    return fast and torch.zeros(3, device="cuda")\n\n\ndef make(x):\n    return _make({STAYS})\n',
        "from . import made\n\nmade._make(True)\n",
    ),
}


@pytest.mark.parametrize("name", BY_ANOTHER_FILE)
def test_what_another_file_does(name: str) -> None:
    text, other = BY_ANOTHER_FILE[name]
    assert "tdev.zeros" not in migrated({"made.py": text}).code
    assert "tdev.zeros" in migrated({"made.py": text, "other.py": other}).code


def test_what_another_file_calls_so_by_itself() -> None:
    other = f"{_HEIR}def f(self):\n        fast = True\n        return fast\n"
    assert "tdev.zeros" not in migrated({"made.py": _FLAG, "other.py": other}).code


def test_a_question_and_its_word_stay_together() -> None:
    text = (
        'import torch\n\n\ndef f(args):\n    if torch.cuda.is_available():\n        device = "cuda"\n    elif args.no_mps:\n'
        '        device = "cpu"\n    else:\n        device = "cpu"\n    return torch.zeros(3, device=device)\n'
    )
    made = migrated({"made.py": text})
    assert "tdev" not in made.code and any("backends" in each.message for each in made.findings)


@pytest.mark.parametrize(
    "text",
    [
        'name = "cuda:1" if torch.cuda.is_available() else "cpu"\ndevice = torch.device(name)\nis_first = device == torch.device("cuda")\n',
        'class A:\n    def __init__(self, gpu):\n        self.device = torch.device("cuda" if gpu else "cpu")\n\n'
        '    def first(self):\n        return self.device == torch.device("cuda")\n\n\nclass B(A):\n    def __init__(self, rank):\n'
        '        super().__init__(True)\n        self.device = torch.device(f"cuda:{rank}")\n',
    ],
)
def test_a_device_that_may_have_an_index_is_not_asked_for_its_type(text: str) -> None:
    assert "is_accelerator" not in migrated({"made.py": f"import torch\n\n{text}"}).code


def test_words_that_an_heir_replaces() -> None:
    text = (
        'import torch\n\n\nclass Base:\n    def __init__(self, gpu):\n        self.device = "cuda" if gpu else "cpu"\n\n'
        '    def sync(self):\n        if self.device == "cuda":\n            torch.cuda.synchronize()\n\n\n'
        "class Heir(Base):\n    def __init__(self, x: torch.Tensor):\n        super().__init__(False)\n        self.device = x.device.type\n"
    )
    assert "tdev.is_accelerator(self.device" in migrated({"made.py": text}).code
    base, heir = text.split("\n\n\nclass Heir")
    files = {
        "made.py": f"{base}\n",
        "other.py": f"import torch\n\nfrom .made import Base\n\n\nclass Heir{heir}",
    }
    assert "tdev.is_accelerator" not in migrated({"made.py": files["made.py"]}).code
    assert "tdev.is_accelerator(self.device" in migrated(files).code


def test_torch_by_another_name_from_a_module_of_the_tree() -> None:
    files = {
        "compat.py": "import torch\n",
        "made.py": "from .compat import torch as th\n\n\ndef f(device):\n    return th.zeros(3, device=device)\n",
    }
    assert "tdev.zeros" in migrated(files).code


def test_a_constant_of_another_package() -> None:
    files = {
        "own.py": 'import torch\n\nDEVICE = torch.device("cuda")\n',
        "made.py": "import torch\nimport elsewhere.settings as cfg\n\n\ndef f():\n    return torch.zeros(3, device=cfg.DEVICE)\n",
    }
    assert "tdev.zeros" in migrated(files).code


def test_what_another_file_may_give_to_torch() -> None:
    files = {
        "config.py": 'import torch\nimport foolib\n\nDEVICE = "cuda" if torch.cuda.is_available() else "cpu"\nM = foolib.Model(kind=DEVICE)\n',
        "made.py": "import torch\nfrom .config import DEVICE\n\n\ndef go(model):\n    return model.cuda()(torch.zeros(2, device=DEVICE))\n",
    }
    assert "tdev.cuda.is_available()" in migrated(files, "config.py").code


def test_a_word_that_comes_another_way_is_told() -> None:
    text = (
        "import torch\nfrom elsewhere import Model\n\n\ndef make(args):\n    if args.fast:\n"
        '        device = "cuda"\n    elif torch.cuda.is_available():\n        device = "cuda"\n    else:\n        device = "cpu"\n'
        '    return Model("x", device=device)\n'
    )
    assert any('may be "cuda"' in each.message for each in migrated({"made.py": text}).findings)


def test_script_of_what_calls_by_another_name() -> None:
    files = {
        "dev.py": 'import torch\n\n\ndef helper(x):\n    return torch.zeros(3, device="cuda") + x\n',
        "fns.py": "from pkg.dev import helper as h\n\n\ndef fun(x):\n    return h(x)\n",
        "made.py": 'import torch\nfrom pkg.fns import fun\n\ng = torch.jit.script(fun)\nx = torch.zeros(3, device="cuda")\n',
    }
    assert "tdev.jit.script(fun)" in migrated(files).code


_TESTS = "import torch\n\n\ndef test_a(device):\n    x = torch.zeros(3, device=device)\n"
_FIXTURE = "import pytest\nimport torch\n\n\n@pytest.fixture\ndef device(x: torch.Tensor):\n    return x.device\n"


@pytest.mark.parametrize(
    "other",
    [
        _FIXTURE.replace("fixture", 'fixture(name="other")'),
        f'{_FIXTURE}\n\n@pytest.fixture(params=[list((1, 2))], name="device")\ndef made():\n    return "cuda"\n',
        f'{_FIXTURE}\n\ndef made():\n    return "cuda"\n\n\ndevice = pytest.fixture(made)\n',
    ],
)
def test_fixtures_by_another_name(other: str) -> None:
    assert migrated({"conftest.py": _FIXTURE, "made.py": _TESTS}).code == _TESTS
    assert "tdev.zeros" in migrated({"conftest.py": other, "made.py": _TESTS}).code


_SCRIPTS = {
    "a function with prose at the margin": (
        'import torch\n\n\ndef scale(x):\n    """Scale it.\n\nAt the margin.\n    """\n    return x + torch.zeros(3, device="cuda")\n',
        "scale",
    ),
    "a function beside which nothing is a module": (
        'import torch\n\n\ndef scale(x):\n    return x + torch.zeros(3, device="cuda")\n',
        "scale",
    ),
    "a module that calls such a function": (
        "import torch\nfrom .other import make\n\n\nclass Scale(torch.nn.Module):\n    def forward(self, x):\n        return x + make()\n",
        "Scale()",
    ),
}


@pytest.mark.parametrize("name", _SCRIPTS)
def test_scripts_of_what_another_file_has(name: str) -> None:
    text, what = _SCRIPTS[name]
    made = (
        f"import torch\nfrom .fns import {what.rstrip('()')}\n\nfast = torch.jit.script({what})\n"
    )
    other = 'import torch\n\n\ndef make():\n    return torch.zeros(3, device="cuda")\n'
    files = {"fns.py": text, "other.py": other, "made.py": made}
    assert f"tdev.jit.script({what})" in migrated(files).code


def test_odd_inputs_end_no_run() -> None:
    files = {
        "train_cuda (1).py": 'CUDA_DEVICE = "cuda"\n',
        "gpu(old.py": 'GPU_DEVICE = "cuda"\n',
        "made.py": "import torch\n\ntorch.cuda.synchronize()\n",
    }
    assert "tdev.cuda" in migrated(files).code
    chain = "".join(f"    v{n} = v{n - 1} and v{n - 2}\n" for n in range(2, 40))
    text = f'{KEPT}def g(x):\n    return {STAYS}\n\n\ndef f(v0, v1):\n{chain}    if v39:\n        return torch.zeros(3, device="cuda")\n'
    assert "tdev.zeros" in migrated({"made.py": text}).code
    for path in ('os.path.join(ROOT, "x.pt")', 'Path(__file__).with_name("data/x.pt")'):
        text = (
            "import os\nfrom pathlib import Path\nimport torch\nfrom paths import ROOT\n\nROOT = os.path.abspath(ROOT)\n\n\n"
            f"def load():\n    return torch.load({path})\n"
        )
        assert "tdev.load" in migrated({"made.py": text}).code


def test_an_import_below_a_try_is_as_far_in_by_tabs() -> None:
    text = (
        "def f():\n\ttry:\n\t\timport torch\n\texcept ImportError:\n\t\traise ImportError('torch is missing')\n"
        "\treturn torch.cuda.device_count()\n"
    )
    assert "\n\timport tdev\n" in migrated({"made.py": text}).code


IN_DOUBLE = {
    "what torch makes of an attribute": (
        "class Tree:\n    def forward(self, semiring):\n        scores = semiring.mask(self.scores)\n"
        "        return torch.exp(scores).double().sum()\n",
        True,
    ),
    "an answer about a parameter": (
        "def accuracy(output, labels):\n    preds = output.max(1)[1]\n    correct = preds.eq(labels).to(torch.float64)\n"
        "    return correct.sum()\n",
        True,
    ),
    "a tensor by its annotation": (
        "def rows(n: int, index: torch.Tensor):\n    return (-8 * index.double() + n).sqrt()\n",
        True,
    ),
    "a module": ("def widen(model):\n    model.double()\n    return model.double()\n", False),
    "a number": ("def scale(n: int, f):\n    f.double()\n    return n.double()\n", False),
    "what is fetched": ("def told(x):\n    y = x.cpu()\n    return y.double()\n", False),
    "what is made on the CPU": (
        "def made(n):\n    x = torch.tensor(n)\n    return x.double() + torch.from_numpy(n).double()\n",
        False,
    ),
    "what is made where a caller says": (
        "def made(n, device):\n    return torch.zeros(n, dtype=torch.float64, device=device)\n",
        True,
    ),
    "what is made where the object has its device": (
        "class Made:\n    def forward(self, n):\n        return torch.eye(n, device=self.device, dtype=torch.cdouble)\n",
        True,
    ),
    "what is made where another tensor lies": (
        "def made(n, x):\n    return torch.zeros(n, dtype=torch.float64, device=x.device)\n",
        False,
    ),
    "data that is made ready": ("def collate(batch):\n    return batch.double()\n", False),
}


@pytest.mark.parametrize("what", IN_DOUBLE)
@pytest.mark.parametrize("moves", ["beside", "elsewhere", "nowhere"])
def test_doubles_of_what_may_lie_on_a_device(what: str, moves: str) -> None:
    text, told = IN_DOUBLE[what]
    files = {
        "made.py": "import torch\n\n\n" + text,
        "run.py": "import torch\n\nnet = torch.nn.Linear(2, 2).cuda()\n",
        "tests/test_run.py": "import torch\n\nx = torch.zeros(2).cuda()\n",
    }
    if moves != "elsewhere":
        del files["run.py"]
    if moves == "beside":
        files["made.py"] += "\n\ndef place(net):\n    return net.cuda()\n"
    found = [each.message for each in migrated(files).findings]
    assert any("no double precision" in each for each in found) is (told and moves != "nowhere")


def test_a_question_stays_in_an_import_beside_names_that_go() -> None:
    text = (
        "import torch\nfrom torch.cuda import is_available as has, synchronize\n\n\ndef arch():\n"
        "    return has() and torch.cuda.get_device_capability() >= (8, 0)\n\n\ndef n():\n    return synchronize()\n"
    )
    code = migrated({"made.py": text}).code
    assert "from torch.cuda import is_available as has\n" in code
    assert "from tdev.cuda import synchronize\n" in code


def test_an_import_goes_above_a_decorator() -> None:
    text = (
        "def f(x, flag):\n    if flag:\n        import torch\n    @deco(3)\n    def inner(y=x.cuda()):\n        return y\n"
        "    return inner\n"
    )
    compile(migrated({"made.py": text}).code, "made.py", "exec")


def test_doubles_of_a_chain_of_products_are_told_in_time() -> None:
    lines = "".join(f"    a{i} = a{i - 1} * a{i - 1}\n" for i in range(1, 60))
    text = f"DEV = 'cuda'\n\n\ndef f(a0: torch.Tensor):\n{lines}    return a59.double()\n"
    found = migrated({"made.py": f"import torch\n\n{text}"}).findings
    assert any("no double precision" in each.message for each in found)


def test_a_method_that_needs_no_object_of_a_class_for_cuda() -> None:
    text = (
        "import torch\n\n\nclass Fast:\n    def __init__(self):\n        import pycuda.driver as driver\n\n"
        "    @classmethod\n    def default(cls):\n        return torch.zeros(3, device='cuda')\n\n"
        "    def own(self):\n        return torch.ones(3, device='cuda')\n"
    )
    code = migrated({"made.py": text}).code
    assert "tdev.zeros(3" in code and "torch.ones(3" in code


def test_gputil_that_is_only_shown() -> None:
    text = (
        "import GPUtil\nimport torch\n\n\ndef main():\n    for gpu in GPUtil.getGPUs():\n        print(gpu.load)\n"
        "    return torch.device('cuda')\n"
    )
    assert "tdev.device('cuda')" in migrated({"made.py": text}).code


def test_a_module_that_is_loaded_again_is_torchs() -> None:
    text = "import importlib\n\nimport torch\n\nimportlib.reload(torch.cuda)\ntorch.cuda.synchronize()\n"
    code = migrated({"made.py": text}).code
    assert "importlib.reload(torch.cuda)" in code and "tdev.cuda.synchronize()" in code


@pytest.mark.parametrize(
    "head", ["def resolve(device='cuda'):", "resolve('cuda')\n\n\ndef resolve(device):"]
)
def test_a_word_that_a_question_refuses_stays_as_long_as_that_does(head: str) -> None:
    text = (
        f"import torch\n\n\n{head}\n    if device.startswith('cuda'):\n        if not torch.cuda.is_available():\n"
        "            raise ValueError('no CUDA')\n    elif device.startswith('mps'):\n"
        "        if not torch.backends.mps.is_available():\n            raise ValueError('no MPS')\n"
        "    return torch.zeros(3, device=device)\n"
    )
    code = migrated({"made.py": text}).code
    asked = "not torch.cuda.is_available()" in code
    assert asked is ("torch.zeros(3" in code)


@pytest.mark.parametrize(
    "loop",
    [
        "for split in (f'{split}.pt', 'b'):",
        "for split, more in zip([f'{more}.pt'], [f'{split}.pt']):",
    ],
)
def test_a_loop_over_its_own_variable_is_given_up(loop: str) -> None:
    text = (
        f"import torch\n\n\ndef more(root):\n    {loop}\n        torch.save(torch.zeros(3), f'{{split}}.pt')\n"
        "    return torch.load('a.pt')\n"
    )
    assert "tdev.load('a.pt')" in migrated({"made.py": text}).code


def test_a_question_that_goes_is_tdevs_in_the_alias_style_too() -> None:
    text = (
        "import torch\nfrom torch.cuda import is_available\n\n\ndef get():\n    if is_available():\n        return 'cuda'\n"
        "    elif torch.backends.mps.is_available():\n        return 'cpu'\n    return 'cpu'\n\n\n"
        "def name():\n    return is_available() and 'fast'\n"
    )
    code = rewrite(text, Names.load(), Options(style="alias"), filename="made.py").code
    assert "return tdev.cuda.is_available() and" in code and "import tdev\n" in code
    assert rewrite(code, Names.load(), Options(style="alias"), filename="made.py").code == code


def test_a_path_in_an_arm_without_cudas_is_no_device() -> None:
    text = (
        'import torch\n\n\ndef load(path, device="cuda"):\n    if "cuda" in path:\n        state = None\n    else:\n'
        "        state = torch.load(path, map_location=device)\n    return state\n\n\n"
        'def make(name, device="cuda"):\n    if name.startswith("cuda"):\n        return None\n    else:\n'
        "        return torch.zeros(3, names=name, device=device)\n"
    )
    code = migrated({"made.py": text}).code
    assert "tdev.load(path" in code and "tdev.zeros(3" in code


@pytest.mark.parametrize(
    "moved",
    [
        "model.eval().cuda()",
        'model.to("cuda")',
        "net = model.half()\n    net.cuda()",
        "place(model)",
    ],
)
def test_a_model_that_is_moved_has_not_placed_itself(moved: str) -> None:
    text = (
        "import timm\nimport torch\n\n\ndef place(net):\n    net.cuda()\n\n\ndef run(x):\n"
        '    device = "cuda" if torch.cuda.is_available() else "cpu"\n    model = timm.create_model("x")\n'
        f"    {moved}\n    return model(x.to(device))\n"
    )
    assert "if torch.cuda.is_available() else" not in migrated({"made.py": text}).code


def test_what_a_model_gives_may_be_handed_on() -> None:
    text = (
        'import clip\nimport torch\n\n\ndef run(x):\n    device = "cuda" if torch.cuda.is_available() else "cpu"\n'
        '    model, _ = clip.load("x")\n    model.eval()\n    out = model.encode_image(x.to(device))\n'
        "    return torch.nn.functional.normalize(out).cpu()\n"
    )
    assert "if torch.cuda.is_available() else" in migrated({"made.py": text}).code


def test_a_model_of_an_object_that_is_moved_has_not_placed_itself() -> None:
    text = (
        "import timm\nimport torch\n\n\nclass Run:\n    def __init__(self):\n"
        '        self.device = "cuda" if torch.cuda.is_available() else "cpu"\n        self.model = timm.create_model("x")\n'
        "        if torch.cuda.is_available():\n            self.model.cuda()\n\n"
        "    def run(self, x):\n        return self.model(x.to(self.device))\n"
    )
    assert "if torch.cuda.is_available() else" not in migrated({"made.py": text}).code


BEFORE_THE_TOOL = {
    "a question": 'if not torch.cuda.is_available():\n        return "none"',
    "a question in a loop": 'for _ in range(3):\n        if not torch.cuda.is_available():\n            return "none"',
    "an exit of a block": 'with open("x") as f:\n        return f.read()',
}
RUNS_THE_TOOL = {
    "checked": 'out = subprocess.check_output(["nvidia-smi", "-L"])\n    return out.decode()',
    "read": 'lines = os.popen("nvidia-smi -L").read()\n    a, b = lines.split(",")\n    return a',
    "read, where there is any": (
        'lines = os.popen("nvidia-smi -L").read()\n    if not lines:\n        return 0\n    a, b = lines.split(",")\n    return a'
    ),
}


@pytest.mark.parametrize("before", ["nothing", *BEFORE_THE_TOOL])
@pytest.mark.parametrize("runs", RUNS_THE_TOOL)
def test_an_exit_before_nvidias_tool(before: str, runs: str) -> None:
    exits = BEFORE_THE_TOOL.get(before, "pass")
    text = (
        f"import os\nimport subprocess\nimport torch\n\n\ndef gpu_name():\n    {exits}\n    {RUNS_THE_TOOL[runs]}\n\n\n"
        'def main():\n    name = gpu_name()\n    return torch.zeros(3, device="cuda"), name\n'
    )
    fails = before == "nothing" and runs != "read, where there is any"
    assert ("tdev.zeros(3" in migrated({"made.py": text}).code) is not fails


def test_an_exit_before_a_text_of_nvidias_tool_is_taken_apart() -> None:
    text = (
        'import os\nimport torch\n\n\ndef main():\n    lines = os.popen("nvidia-smi -L").read()\n    if lines:\n'
        '        a, b = lines.split(",")\n        print(torch.zeros(3, device="cuda"))\n'
        '    c, d = "x,y".split(",")\n    return torch.ones(3, device="cuda")\n'
    )
    assert "tdev.ones(3" in migrated({"made.py": text}).code


@pytest.mark.parametrize(
    "name",
    ["list", "memory", "mem", "fraction", "path", "size", "batch_size", "visible", "ids", "home"],
)
@pytest.mark.parametrize("kind", ["gpu", "cuda"])
def test_a_setting_is_no_flag(name: str, kind: str) -> None:
    text = (
        f"import torch\n\n\ndef run({kind}_{name}=None):\n    if {kind}_{name} and not torch.cuda.is_available():\n"
        f'        raise RuntimeError("CUDA is needed")\n    return torch.zeros(3, device="cuda"), {kind}_{name}\n'
    )
    assert "not tdev.answers_cuda()" in migrated({"made.py": text}).code


@pytest.mark.parametrize("name", ["sync", "enabled", "synchronize", "timing"])
def test_a_flag_besides_is_one(name: str) -> None:
    text = (
        f"import torch\n\n\ndef run(cuda_{name}=False):\n    if cuda_{name} and not torch.cuda.is_available():\n"
        f'        raise RuntimeError("CUDA is needed")\n    return torch.zeros(3, device="cuda")\n'
    )
    assert "not tdev.cuda.is_available()" in migrated({"made.py": text}).code


@pytest.mark.parametrize(
    ("imported", "called", "stays"),
    [
        ("import matplotlib.pyplot as plt", "plt.scatter", False),
        ("from matplotlib.pyplot import scatter", "scatter", False),
        ("from torch.nn.parallel import scatter", "scatter", True),
        ("from mmcv.parallel import scatter", "scatter", True),
        ("from torch.nn.parallel import scatter_gather", "scatter_gather.scatter", True),
        ("import torch.nn as nn", "nn.parallel.scatter", True),
    ],
)
def test_a_scatter_of_points_is_not_torchs(imported: str, called: str, stays: bool) -> None:
    text = f"{imported}\nimport torch\n\n\ndef show(x: torch.Tensor):\n    if x.is_cuda:\n        {called}(x, [1, 2])\n"
    assert ("if x.is_cuda:" in migrated({"made.py": text}).code) is stays


def test_a_row_of_a_test_that_stays_keeps_no_other_row() -> None:
    text = (
        "import pytest\nimport torch\n\n\n@pytest.mark.parametrize(\n    'dev',\n    [\n        'cpu',\n"
        "        pytest.param('cuda', marks=pytest.mark.skipif(not torch.cuda.is_available(), reason='no')),\n"
        "        pytest.param('mps', marks=pytest.mark.skipif(not torch.backends.mps.is_available(), reason='no')),\n"
        "    ],\n)\ndef test_it(dev):\n    torch.cuda.synchronize()\n    assert torch.zeros(3, device='cuda').sum() == 0\n"
    )
    code = migrated({"made.py": text}).code
    assert "skipif(not torch.cuda.is_available()" in code
    assert "tdev.cuda.synchronize()" in code and "tdev.zeros(3" in code


@pytest.mark.parametrize(
    "asked", ['kwargs.get("device")', 'kwargs["device"]', 'kwargs.get("device", None)']
)
def test_what_is_asked_for_a_device_and_handed_on_may_hold_one(asked: str) -> None:
    """The file names no device else, nor CUDA."""
    source = f"import torch\n\n\ndef noise(size, **kwargs):\n    print({asked})\n    return torch.rand(size, **kwargs)\n"
    assert "tdev.rand(size, **kwargs)" in migrated({"made.py": source}).code


@pytest.mark.parametrize(
    "reads", ["given.autocast()", "pkg.given.amp.autocast()", "called.autocast()"]
)
def test_a_name_of_amps_that_another_file_reads_of_its_module(reads: str) -> None:
    given = "from torch.cuda.amp import autocast\n"
    taker = f"import pkg.given as called\nfrom pkg import given\n\n\ndef step(net, x):\n    with {reads}:\n        return net(x.cuda())\n"
    files = {"given.py": given, "taker.py": taker}
    assert migrated(files, "given.py").code == "from tdev.cuda.amp import autocast\n"


_PATCHED = {
    "choice": """import torch


def choose():
    if torch.backends.mps.is_available():
        return "mps"
    return f"cuda:{torch.cuda.current_device()}"
""",
    "count": """import torch


def choose():
    return f"cuda:{torch.cuda.current_device()}"
""",
}


@pytest.mark.parametrize("module", _PATCHED)
def test_a_patched_answer_of_a_package_that_knows_mps(module: str) -> None:
    """What is expected to give CUDA's name asks tdev, like anything else, be it beside MPS."""
    test = f"""import torch
from pkg.{module} import choose


def test_choose(monkeypatch):
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 3)
    assert choose() == "cuda:3"
"""
    files = {f"{name}.py": text for name, text in _PATCHED.items()} | {"test_it.py": test}
    assert "tdev.cuda.current_device()" in migrated(files, f"{module}.py").code
    assert "setattr(tdev.cuda," in migrated(files, "test_it.py").code


@pytest.mark.parametrize("package", ["pykeops.torch", "numpy"])
def test_a_device_that_another_file_chooses_for_what_knows_no_mps(package: str) -> None:
    chooses = (
        "import torch\n\n\ndef get_device(name):\n    if name is None:\n"
        '        return torch.device("cuda" if torch.cuda.is_available() else "cpu")\n    return name\n'
    )
    sums = (
        f"import {package} as other\nfrom pkg.devices import get_device\n\n\nclass Sums:\n"
        "    def __init__(self, device=None):\n        self.device = get_device(device)\n\n"
        "    def of(self, x):\n        return other.LazyTensor(x.to(self.device))\n"
    )
    found = migrated({"devices.py": chooses, "sums.py": sums}, "sums.py").findings
    told = [each.line for each in found if "get_device may give MPS" in each.message]
    assert told == ([7] if package.startswith("pykeops") else [])


CHECK = """import torch


def check(device, allow_cpu=False):
    if device.type != "cuda":
        {first}raise RuntimeError("the search requires a CUDA device")
    return device


"""
PAST = """def train(device{parameter}):
    {before}check(device)
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.max_memory_allocated()
"""


@pytest.mark.parametrize(
    ("first", "parameter", "before"),
    [
        ("if allow_cpu:\n            return device\n        ", "", ""),
        ("", ", check=print", ""),
        ("", "", "check = print\n    "),
        ("", "", "from pkg import check\n\n    "),
    ],
    ids=["a way out", "a parameter", "a variable", "an import"],
)
def test_what_follows_a_call_of_what_may_let_others_past(
    first: str, parameter: str, before: str
) -> None:
    source = CHECK.format(first=first) + PAST.format(parameter=parameter, before=before)
    code = rewrite(source, Names.load(), Options()).code
    assert "tdev.cuda.reset_peak_memory_stats()" in code
    plain = CHECK.format(first="") + PAST.format(parameter="", before="")
    assert "tdev" not in rewrite(plain, Names.load(), Options()).code, (
        "which shows that it could stay"
    )
