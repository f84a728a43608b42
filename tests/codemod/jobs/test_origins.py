"""Where a device comes from, and what a module is there for, by the other files of the tree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tdev_core.run.rewriting import rewritten_tree
from tests.codemod.conftest import Ran

REAL = "tdev_core.codemod.engine"
MADE = "    return torch.zeros(n, device=device)\n"
KERNEL = "import torch\nimport triton\n\n\n@triton.jit\ndef add(x):\n    pass\n"


def _rewritten(place: Path, codemod: Callable[..., Ran], files: dict[str, str]) -> set[str]:
    """Write a tree, run over it, and return the files that name tdev then."""
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    codemod("--force", "--tests", ".", engine=REAL)
    return {name for name in files if "tdev" in (place / name).read_text()}


@pytest.mark.parametrize(
    ("call", "other", "told"),
    [
        ("make(3, x.device)", "", True),
        ("make(3, device=next(model.parameters()).device)", "x = 1", True),
        ("make(3, x.device)", "from .makes import make  # its device\nmake(4, y.device)", True),
        ("make(3, x.device)", "from .makes import make  # its device\nmake(4, exp.device)", False),
        ("make(3, x.device)", "from .makes import make as made  # its device", True),
        ("make(3, x.device)", "from .makes import make as made\nmade(4, exp.device)", False),
        (
            "make(3, x.device)",
            "make = 3  # a device\n\n\ndef f(make):\n    return make, 'device'",
            True,
        ),
        ("make(3, x.device)", "__all__ = ['make', 'device']", True),
        ("getattr(args, 'make')(3, x.device)", "", False),
        ("make(3, x.device)", "made = {'device': 'make'}", False),
        ("make(3, args.device)", "", False),
        ("make(3, 'cuda')", "", False),
        ("make(3, exp.device)", "", False),
        ("make(3)", "", False),
        ("list(map(make, x))", "", False),
        ("make(*x)", "", False),
    ],
)
def test_a_function_that_every_caller_tells_a_tensors_device(
    place: Path, codemod: Callable[..., Ran], call: str, other: str, told: bool
) -> None:
    """As all files show together; who may tell it what a person typed is enough."""
    files = {
        "pkg/__init__.py": "",
        "pkg/makes.py": f"import torch\n\n\ndef make(n, device):\n{MADE}\n\ndef f(x):\n    return make(3, x.device)\n"
        f"\n\ndef g(x, model, args, exp):\n    return {call}\n",
        "pkg/other.py": f"{other}\n",
    }
    assert ("pkg/makes.py" in _rewritten(place, codemod, files)) is not told


@pytest.mark.parametrize(
    ("made", "said", "told"),
    [
        ("pmf = self._pair(x)", "Tensor", True),
        ("pmf = self._pair(0.5 - x) - self._pair(-0.5 - x)", "Tensor", True),
        ("pmf, rest = self._pair(x)\n        pmf = pmf[:, 0]", "tuple[Tensor, Tensor]", True),
        ("pmf = self._pair(x)", "Any", True),
        ("pmf = self._pair(what)", "Any", False),
        ("pmf = self.other._pair(x)", "Tensor", False),
    ],
)
def test_an_object_that_a_method_of_the_class_promises(
    place: Path, codemod: Callable[..., Ran], made: str, said: str, told: bool
) -> None:
    """What a private method is given is a tensor where another one says that it gives one, or gives what it was given."""
    files = {
        "coder.py": "import torch\nfrom torch import Tensor\n\n\nclass Coder:\n"
        f"    def _pair(self, given) -> {said}:\n        return given\n\n"
        "    def _cdf(self, pmf, n):\n        return torch.zeros(n, device=pmf.device)\n\n"
        f"    def update(self, x, what, n):\n        {made}\n        return self._cdf(pmf, n)\n",
    }
    assert ("coder.py" in _rewritten(place, codemod, files)) is not told


@pytest.mark.parametrize(
    ("kept", "use", "told"),
    [
        ("Rotary(3)", "self.rotary(3, x.device)", True),
        ("Rotary(3) if on else None", "exists(self.rotary) and self.rotary(3, x.device)", True),
        ("Rotary(3)", "self.rotary(3, x.device), self.rotary.dim", True),
        ("Rotary(3)", "self.rotary(3, self.config.device)", False),
        ("Rotary(3)", "self.rotary(3, x.device), self.rotary(4, 'cuda')", False),
        ("Rotary(3)", "self.rotary(3, x.device), give(self.rotary)", False),
        ("Rotary(3)", "self.rotary(3, x.device), self.rotary.forward(4, where)", False),
        ("Rotary(3)", "self.rotary(3, x.device), Rotary.forward(self.rotary, 4, where)", False),
        ("nn.ModuleList([Rotary(3)])", "self.rotary[0](3, x.device)", False),
        ("Rotary(3)", "self.rotary(3, x.device), Rotary(3)(4, where)", False),
        ("Rotary(3)", "x", False),
    ],
)
def test_a_module_that_everybody_calls_with_a_tensors_device(
    place: Path, codemod: Callable[..., Ran], kept: str, use: str, told: bool
) -> None:
    """By the attribute that keeps it: what its ``forward`` is given."""
    files = {
        "pkg/__init__.py": "",
        "pkg/rotary.py": "import torch\nfrom torch import nn\n\n\nclass Rotary(nn.Module):\n"
        "    def forward(self, n, device):\n        return torch.arange(n, device=device)\n",
        "pkg/layers.py": "from torch import nn\n\nfrom .rotary import Rotary  # of a device\n\n\n"
        f"class Layers(nn.Module):\n    def __init__(self, on):\n        self.rotary = {kept}\n\n"
        f"    def forward(self, x, where):\n        return {use}\n",
    }
    assert ("pkg/rotary.py" in _rewritten(place, codemod, files)) is not told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("tuple[int, torch.device]", True),
        ("Tuple[Tuple[int, ...], torch.device,]", True),
        ("tuple[torch.device, int]", False),
        ("tuple[int, str]", False),
    ],
)
def test_one_of_several_that_a_function_of_another_file_promises(
    place: Path, codemod: Callable[..., Ran], said: str, told: bool
) -> None:
    """By its place among them."""
    files = {
        "pkg/__init__.py": "",
        "pkg/check.py": f"def check(x, device) -> {said}:\n    return x, device\n",
        "pkg/a.py": "import torch\n\nfrom .check import check\n\n\ndef f(x, config):\n"
        "    n, device = check(x, config.device)\n    return torch.zeros(n, device=device)\n",
    }
    assert ("pkg/a.py" in _rewritten(place, codemod, files)) is not told


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("one, two = found, other.clone()", True),
        ("two, one = found, other.clone()", False),
        ("one = found", True),
        ("one = found or other", False),
    ],
)
def test_an_object_that_is_a_tensor_by_another_name(
    place: Path, codemod: Callable[..., Ran], body: str, told: bool
) -> None:
    """Whatever its function calls it: what that name is asked shows what it is."""
    files = {
        "found.py": f"import torch\n\n\ndef f(found, other):\n    device = found.device\n    {body}\n"
        "    one = one.unsqueeze(1)\n    return one, torch.zeros(3, device=device)\n",
    }
    assert ("found.py" in _rewritten(place, codemod, files)) is not told


@pytest.mark.parametrize(("given", "told"), [("x.device.type", True), ("cfg.device_type", False)])
def test_a_type_that_everybody_takes_of_a_device(
    place: Path, codemod: Callable[..., Ran], given: str, told: bool
) -> None:
    """What autocast is told is as much a device's as what tensors are made on."""
    files = {
        "pkg/__init__.py": "",
        "pkg/casts.py": "import torch\n\n\ndef _plain(device_type: str):\n"
        "    return torch.autocast(device_type=device_type, enabled=False)\n",
        "pkg/uses.py": "from .casts import _plain\n\n\ndef f(x, cfg):\n"
        f"    with _plain({given}):\n        return x\n",
    }
    assert ("pkg/casts.py" in _rewritten(place, codemod, files)) is not told


@pytest.mark.parametrize(
    ("said", "call", "told"),
    [
        ("device (torch.device): where.", "", True),
        ("device (str or torch.device): where.", "", False),
        ("device: where.", "", False),
        ("device (torch.device): where.", "heir.sample(3, cfg.device)", False),
        ("device (torch.device): where.", "heir.sample(3, x.device)", True),
    ],
)
def test_what_a_method_that_is_overridden_says_of_its_device(
    place: Path, codemod: Callable[..., Ran], said: str, call: str, told: bool
) -> None:
    """Holds for those in its place, which say nothing; unless somebody gives one a word all the same."""
    files = {
        "pkg/__init__.py": "",
        "pkg/base.py": "class Base:\n    def sample(self, n, device):\n"
        f'        """Give a sample.\n\n        Args:\n            {said}\n        """\n',
        "pkg/heir.py": "import torch\nfrom .base import Base\n\n\nclass Heir(Base):\n"
        "    def sample(self, n, device):\n        return torch.zeros(n, device=device)\n",
        "pkg/uses.py": f"def f(heir, cfg, x):\n    return {call or None}\n",
    }
    assert ("pkg/heir.py" in _rewritten(place, codemod, files)) is not told


@pytest.mark.parametrize(
    ("kept", "given", "told"),
    [
        ("device: torch.device\n", "", True),
        ("device = torch.device('cuda')\n", "", True),
        (
            "if 3:\n    device = torch.device('cuda')\nelse:\n    device = torch.device('cpu')\n",
            "",
            True,
        ),
        ("device: torch.device\n", "lib.device = torch.device(args.device)", True),
        ("device: torch.device\n", "lib.device = args.device", False),
        ("device: torch.device\n", "lib.device, x = args", False),
        ("device = 'cuda'\n", "", False),
        ("word = 'cuda'\n", "", False),
    ],
)
def test_the_device_of_a_module(
    place: Path, codemod: Callable[..., Ran], kept: str, given: str, told: bool
) -> None:
    """What a module keeps under this name, and whoever sets it from outside."""
    files = {
        "lib/__init__.py": f"import torch\n\n{kept}",
        "lib/uses.py": "import torch\nimport lib\n\n\ndef f(n):\n    return torch.zeros(n, device=lib.device)\n",
        "lib/sets.py": f"import torch\nimport lib\n\n\ndef f(args):\n    {given or None}\n",
    }
    assert ("lib/uses.py" in _rewritten(place, codemod, files)) is not told


@pytest.mark.parametrize(
    ("use", "told"),
    [
        ("make(3, device)", True),
        ("make(3, torch.device('cpu'))", True),
        ("[make]", False),
        ("partial(make, device='cuda')", False),
        ("make(3, 'cuda')", False),
    ],
)
def test_what_a_test_does_with_its_own_helper(
    place: Path, codemod: Callable[..., Ran], use: str, told: bool
) -> None:
    """It shows what its helper is given; to look at one says nothing of it."""
    files = {
        "pkg/__init__.py": "",
        "pkg/tests/test_it.py": f"import torch\n\n\ndef make(n, device):\n{MADE}\n\ndef test_it():\n"
        f"    device = torch.device('cpu')\n    make(2, device)\n    assert {use}\n",
    }
    assert ("pkg/tests/test_it.py" in _rewritten(place, codemod, files)) is not told


def test_a_method_of_the_same_name_takes_other_arguments(
    place: Path, codemod: Callable[..., Ran]
) -> None:
    """A plain call is one of the function, and ``self.make`` of the method."""
    files = {
        "pkg/__init__.py": "",
        "pkg/makes.py": f"import torch\n\n\ndef make(n, device):\n{MADE}",
        "pkg/uses.py": "import torch\nfrom .makes import make\n\n\nclass Model(torch.nn.Module):\n"
        "    def make(self, n, more, device):\n        return make(n, device), torch.ones(n, device=device)\n\n"
        "    def forward(self, x):\n        return self.make(x.tolist(), 'more', x.device)\n",
    }
    assert not _rewritten(place, codemod, files)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("grid(x[:3], 4)", True),
        ("grid(model.layer(x), 4)", True),
        ("grid(find(x), 4)", False),
        ("grid(torch.ones(3), 4), grid(x, 3)", True),
        ("grid(cfg, 4)", False),
        ("grid(*x)", False),
        ("[grid]", False),
    ],
)
def test_what_everybody_gives_for_its_device(
    place: Path, codemod: Callable[..., Ran], call: str, told: bool
) -> None:
    """A tensor's, whatever the function calls it; something else may keep a word."""
    files = {
        "pkg/__init__.py": "",
        "pkg/grids.py": "import torch\n\n\ndef grid(axis_like, n):\n"
        "    return torch.eye(n, device=axis_like.device)\n",
        "pkg/uses.py": "import torch\nfrom .grids import grid\n\n\ndef f(x: torch.Tensor, cfg, model):\n"
        f"    return {call}\n",
    }
    assert ("pkg/grids.py" in _rewritten(place, codemod, files)) is not told


@pytest.mark.parametrize(
    ("where", "stays"),
    [
        ("x.device", True),
        ("find_device(x)", True),
        ("place", False),
        ("None", False),
        ("x.device if place else None", False),
    ],
)
def test_where_a_checkpoint_is_loaded_to(
    place: Path, codemod: Callable[..., Ran], where: str, stays: bool
) -> None:
    """To a device that is there torch loads it by itself."""
    files = {
        "pkg/__init__.py": "",
        "pkg/finds.py": "def find_device(model):\n    return next(model.parameters()).device\n",
        "pkg/loads.py": "import torch\nfrom .finds import find_device\n\n\ndef load(path, x: torch.Tensor, place):\n"
        f"    return torch.load(path, map_location={where})\n",
    }
    assert ("pkg/loads.py" in _rewritten(place, codemod, files)) is not stays


@pytest.mark.parametrize(
    ("head", "told"), [("class Engine(Accelerator):", True), ("class Engine:", False)]
)
def test_an_object_whose_class_inherits_its_device(
    place: Path, codemod: Callable[..., Ran], head: str, told: bool
) -> None:
    """From a class that is not of the tree; one that has no base keeps what others give it."""
    files = {
        "pkg/__init__.py": "",
        "pkg/engine.py": f"{head}\n    def run(self):\n        return 3\n",
        "pkg/uses.py": "import torch\n\n\ndef f(runner):\n"
        "    return torch.zeros(3, device=runner.engine.device)\n",
    }
    assert ("pkg/uses.py" in _rewritten(place, codemod, files)) is not told


def test_what_a_function_after_a_class_says_is_not_the_classes(
    place: Path, codemod: Callable[..., Ran]
) -> None:
    said = '    """Move.\n\n    Parameters\n    ----------\n    device : str or torch.device\n    """\n'
    files = {
        "pkg/__init__.py": "",
        "pkg/mixed.py": f"class Mixed:\n    pass\n\n\ndef move(x, device):\n{said}    return x.to(device)\n",
        "pkg/model.py": "import torch\nfrom .mixed import Mixed\n\n\nclass Model(Mixed, torch.nn.Module):\n"
        "    def make(self):\n        return torch.zeros(3, device=self.device)\n",
    }
    assert not _rewritten(place, codemod, files)


def test_a_star_fills_no_keyword(place: Path, codemod: Callable[..., Ran]) -> None:
    """What stands behind the star of a signature is given by its name, or not at all."""
    files = {
        "reduce.py": "import torch\n\n\ndef _one(*irreps, dtype=None, device=None):\n"
        "    if len(irreps) > 1:\n        return _one(*irreps[1:], dtype=dtype, device=device)\n"
        "    return torch.eye(3, dtype=dtype, device=device)\n\n\n"
        "def reduce(irreps, args):\n    return _one(*irreps, dtype=args.dtype)\n",
    }
    assert not _rewritten(place, codemod, files)


@pytest.mark.parametrize(
    ("kept", "told"), [("next(self.model.parameters()).device", True), ("self.args.device", False)]
)
def test_an_objects_device_by_a_name_of_its_own(
    place: Path, codemod: Callable[..., Ran], kept: str, told: bool
) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/trainer.py": "class BigTrainer:\n    @property\n    def device(self):\n"
        f"        return {kept}\n",
        "pkg/uses.py": "import torch\n\n\ndef f(trainer):\n    device = trainer.device\n"
        "    return torch.zeros(3, device=device)\n",
    }
    assert ("pkg/uses.py" in _rewritten(place, codemod, files)) is not told


@pytest.mark.parametrize(
    ("other", "name", "stays"),
    [
        ("if torch.backends.mps.is_available():\n    device = 'x'\n", "pkg/other.py", True),
        ("def f(device):\n    return device.type == 'mps'\n", "pkg/deep/other.py", True),
        ("def f(device):\n    return device.type in ('cuda', 'mps')\n", "pkg/other.py", False),
        ('"""Not for "mps"."""\n', "pkg/other.py", False),
        ("device = torch.device('mps')\n", "pkg/tests/test_other.py", False),
        ("device = torch.device('mps')\n", "another/other.py", False),
    ],
)
def test_a_package_that_knows_mps_has_left_it_out_where_it_asks_for_cuda(
    place: Path, codemod: Callable[..., Ran], other: str, name: str, stays: bool
) -> None:
    """What runs there today runs without what the question opens."""
    files = {
        "pkg/__init__.py": "",
        "pkg/deep/__init__.py": "",
        "another/__init__.py": "",
        name: f"import torch\n\n{other}",
        "pkg/train.py": "import torch\n\n\ndef f(x: torch.Tensor):\n    half = x.device.type == 'cuda'\n    return half\n",
    }
    assert ("pkg/train.py" in _rewritten(place, codemod, files)) is not stays


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("device = n.get_device()\n    if device < 0:\n        device = None", False),
        ("device = self.get_device()", False),
        ("device = utils.get_device()", False),
        (
            "if device is None:\n        device = x.device\n    else:\n        device = torch.device(device)",
            True,
        ),
        ("if device is None:\n        device = x.device", False),
        ("if device is None:\n        device = x.device\n    else:\n        device = n", False),
        ("args.device = torch.device(args.device)\n    device = args.device", True),
        ("args.device = n\n    device = args.device", False),
        ("if isinstance(device, str):\n        device = torch.device(device)", True),
        ("if isinstance(device, str):\n        device = n", False),
        ("if isinstance(device, str):\n        n = torch.device(device)", False),
        ("device = f'{x.device.type}:{n}'", True),
        ("device = f'{n}:{x.device.index}'", False),
        ("device = str(x.device)", True),
        ("device = torch._C._get_accelerator().type", True),
        (
            "args.device = torch.device(n)\n    if n:\n        args.device = n\n    device = args.device",
            False,
        ),
        (
            "args.device = torch.device(n)\n    assert args.device.type\n    device = args.device",
            True,
        ),
    ],
)
def test_what_a_function_has_made_of_its_device(
    place: Path, codemod: Callable[..., Ran], body: str, told: bool
) -> None:
    """Whichever arm was taken, and in the attribute that it was kept in."""
    files = {
        "made.py": "import torch\nimport utils\n\n\nclass A:\n    pass\n\n\ndef f(self, n, x, args, device):\n"
        f"    {body}\n    return torch.zeros(3, device=device)\n",
    }
    _rewritten(place, codemod, files)
    assert ("tdev.zeros" in (place / "made.py").read_text()) is not told


@pytest.mark.parametrize(
    ("asks", "told"),
    [
        ("self.half = self.device.type != 'cpu'", True),
        ("self.half = self.device.type != 'cpu' and self.device != 'cpu'", False),
        ("self.half = isinstance(self.device, str) or self.device.type", False),
        ("self.half = self.device", False),
    ],
)
def test_an_attribute_that_is_asked_for_its_type(
    place: Path, codemod: Callable[..., Ran], asks: str, told: bool
) -> None:
    """No string has one."""
    files = {
        "made.py": "import torch\n\n\nclass Backend:\n    def __init__(self, device):\n        self.device = device\n"
        f"        {asks}\n        self.mean = torch.zeros(3, device=self.device)\n",
    }
    _rewritten(place, codemod, files)
    assert ("tdev.zeros" in (place / "made.py").read_text()) is not told


def test_the_word_that_a_package_which_knows_mps_hands_on(
    place: Path, codemod: Callable[..., Ran]
) -> None:
    """It is that of the device in use: what takes it refuses CUDA's where that is not."""
    files = {
        "pkg/__init__.py": "",
        "pkg/tools.py": "import torch\n\n\ndef init_device(word):\n    if 'cuda' in word:\n"
        "        assert torch.cuda.is_available(), 'no CUDA'\n    if word == 'mps':\n"
        "        assert torch.backends.mps.is_available()\n    return torch.device(word)\n",
        "pkg/models.py": "import torch\nfrom .tools import init_device\n\n\ndef load(device=None):\n"
        "    device = device or ('cuda' if torch.cuda.is_available() else 'cpu')\n    return init_device(device)\n",
    }
    _rewritten(place, codemod, files)
    assert "str(tdev.device('cuda')) if tdev." in (place / "pkg/models.py").read_text()


FIXTURE = "import pytest\nimport torch\n\n\n{0}\ndef device(request):\n    {1}\n"


@pytest.mark.parametrize(
    ("decorator", "body", "told"),
    [
        ("@pytest.fixture", "return torch.device('cpu')", True),
        ("@pytest.fixture(scope='session')", "yield torch.device('cuda')", True),
        ("@pytest.fixture(params=[torch.device('cpu')])", "return request.param", True),
        ("@pytest.fixture(params=all_devices())", "return request.param", True),
        ("@pytest.fixture(params=['cpu', 'cuda'])", "return request.param", False),
        ("@pytest.fixture", "return 'cuda'", False),
        ("@pytest.fixture(params=device_words())", "return request.param", False),
        ("@cache", "return torch.device('cpu')", False),
    ],
)
@pytest.mark.parametrize("above", ["", "@pytest.mark.parametrize('n', [1, 2])\n"])
def test_a_fixture_that_gives_tests_a_device(
    place: Path, codemod: Callable[..., Ran], decorator: str, body: str, told: bool, above: str
) -> None:
    """By all that it returns, yields or lists; of all fixtures of its name."""
    lists = (
        "\n\ndef all_devices():\n    gpu = torch.device('cuda')\n    return [torch.device('cpu')] if 3 else list(dict.fromkeys([gpu]))"
        "\n\n\ndef device_words():\n    return ['cuda']\n"
    )
    files = {
        "tests/conftest.py": FIXTURE.format(decorator, body)
        + lists.replace(" if 3 else ", "\n    return "),
        "tests/test_it.py": f"import pytest\nimport torch\n\n\n{above}def test_it(n, device):\n{MADE}",
    }
    assert ("tests/test_it.py" in _rewritten(place, codemod, files)) is not told


@pytest.mark.parametrize(
    ("listed", "told"),
    [
        ("'device', [torch.device('cpu'), torch.device('cuda')]", True),
        ("'device', ['cpu', 'cuda']", False),
        ("'n, device', [(1, torch.device('cpu'))]", False),
        ("('n', 'device'), [(1, 'cuda')]", False),
    ],
)
def test_what_is_listed_above_a_test_takes_the_fixtures_place(
    place: Path, codemod: Callable[..., Ran], listed: str, told: bool
) -> None:
    files = {
        "tests/conftest.py": FIXTURE.format("@pytest.fixture", "return torch.device('cpu')"),
        "tests/test_it.py": f"import pytest\nimport torch\n\n\n@pytest.mark.parametrize({listed})\n"
        f"def test_it(n, device):\n{MADE}",
    }
    _rewritten(place, codemod, files)
    assert ("tdev.zeros" in (place / "tests/test_it.py").read_text()) is not told


@pytest.mark.parametrize(
    ("said", "real"),
    [
        (":rtype: torch.device", True),
        (":rtype: :class:`torch.device`", True),
        ("Returns:\n        torch.device: the best one.", True),
        ("Returns\n    -------\n    torch.device", True),
        (":rtype: torch.device or str", False),
        ("Returns:\n        where it is.", False),
    ],
)
def test_a_docstring_promises_a_device(
    place: Path, codemod: Callable[..., Ran], said: str, real: bool
) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/finds.py": f'def find_my_device(x):\n    """Find it.\n\n    {said}\n    """\n    return x.find()\n',
        "pkg/uses.py": "import torch\nfrom .finds import find_my_device\n\n\ndef f(m):\n"
        "    device = find_my_device(m)\n    return torch.zeros(3, device=device)\n",
    }
    assert ("pkg/uses.py" in _rewritten(place, codemod, files)) is not real


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("with Context(3) as ctx:\n        pass", True),
        ("ctx = Context(3)", True),
        ("ctx = other(3)", False),
        ("ctx = Other(3)", False),
    ],
)
def test_an_object_that_is_made_where_it_is_asked(
    place: Path, codemod: Callable[..., Ran], made: str, told: bool
) -> None:
    """Its class keeps a real device, whatever the variable is called."""
    files = {
        "pkg/__init__.py": "",
        "pkg/context.py": "import torch\n\n\nclass Context:\n    def __init__(self, n):\n"
        "        self.device = torch.device('cuda')\n\n\nclass Other:\n    def __init__(self, n):\n"
        "        self.device = n\n",
        "pkg/uses.py": "import torch\nfrom .context import Context, Other, other\n\n\ndef f():\n"
        f"    {made}\n    return torch.zeros(3, device=ctx.device)\n",
    }
    assert ("pkg/uses.py" in _rewritten(place, codemod, files)) is not told


HELD = "import torch\n\n\nclass Maker:\n    def __init__(self, n, device=None):\n        self.device = device\n"
USED = "\n    def make(self):\n        return torch.zeros(3, device=self.device)\n"


@pytest.mark.parametrize(
    ("uses", "told"),
    [
        ("Maker(3, x.device)", True),
        ("Maker(3, device=get_device(x))", True),
        ("isinstance(x, Maker), Maker(3, x.device)", True),
        ("Maker(3, cfg.device)", False),
        ("Maker(3, 'cuda:0')", False),
        ("MAKERS['plain'](3, cfg.device), {'plain': Maker}", False),
        ("Heir(3, x.device)", True),
        ("Heir(3, cfg.device)", False),
        ("Own(x.device)", True),
        ("Own(cfg.device), Maker(3, x.device)", False),
    ],
)
def test_an_object_that_everybody_makes_with_a_tensors_device(
    place: Path, codemod: Callable[..., Ran], uses: str, told: bool
) -> None:
    """Whoever makes it, or a class that is made as it is: ``super().__init__(device)`` is one of them."""
    inits = "    def __init__(self, device):\n        super().__init__(3, device)\n"
    own = f"\n\nclass Own(Maker):\n{inits}" if "Own" in uses else ""
    files = {
        "pkg/__init__.py": "",
        "pkg/maker.py": HELD + USED,
        "pkg/uses.py": f"from .maker import Maker\n\n\nclass Heir(Maker):\n    pass\n{own}\n\n"
        "def get_device(model):\n    return next(model.parameters()).device\n\n\n"
        f"def f(x, cfg):\n    return {uses}\n",
    }
    assert ("pkg/maker.py" in _rewritten(place, codemod, files)) is not told


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("made = Linear\n    return made(3, x.device)", True),
        ("made = Linear\n    return made.of(x), made(3, dev=first(x))", True),
        ("made = Linear\n    return made(3, cfg.device)", False),
        ("made = Linear\n    return list(map(made, x))", False),
        ("global made\n    made = Linear\n    return made(3, x.device)", False),
        ("from others.old import Linear as Old\n    return isinstance(x, Old)", True),
        ("from .layers import Linear as Own\n    return Own(3, cfg.device)", False),
    ],
)
def test_a_class_that_a_variable_keeps(
    place: Path, codemod: Callable[..., Ran], body: str, told: bool
) -> None:
    """Its calls by that name are the class's, and a short name of a parameter is as good as a long one."""
    files = {
        "pkg/__init__.py": "",
        "pkg/layers.py": "import torch\n\n\nclass Linear:\n    def __init__(self, n, dev):\n"
        "        self.weight = torch.zeros(n, device=dev)\n\n    @classmethod\n    def of(cls, linear):\n"
        "        return cls(3, linear.weight.device)\n",
        "pkg/uses.py": "from .layers import Linear\n\n\ndef first(model):\n"
        "    device = next(iter(model.state_dict().values())).device\n    return device\n\n\n"
        f"def f(x, cfg):\n    {body}\n",
    }
    assert ("pkg/layers.py" in _rewritten(place, codemod, files)) is not told


@pytest.mark.parametrize(
    ("body", "real"),
    [
        ("return next(model.parameters()).device", True),
        ("device = 'cpu'\n    device = torch.device(device)\n    return device", True),
        ("return pick_device(model)", True),
        ("return 'cuda' if model else 'cpu'", False),
        ("return model.cfg.device", False),
        ("return None if model else cfg", False),
        ("if cfg:\n        return find_my_device(model, 3)\n    return model.device", True),
        ("return find_my_device(model, cfg)", False),
        ("return getattr(model, 'device', None)", True),
        ("return getattr(cfg, 'device', 'cpu')", False),
        ("return getattr(model, 'device', cfg)", False),
    ],
)
def test_a_function_that_gives_a_device(
    place: Path, codemod: Callable[..., Ran], body: str, real: bool
) -> None:
    """By all that it returns, in whatever file it stands."""
    files = {
        "pkg/__init__.py": "",
        "pkg/finds.py": "import torch\n\n\ndef pick_device(m) -> torch.device | None:\n    return m.device\n\n\n"
        f"def find_my_device(model, cfg):\n    {body}\n",
        "pkg/uses.py": "import torch\nfrom .finds import find_my_device\n\n\ndef f(m):\n"
        "    device = find_my_device(m, 3)\n    return torch.zeros(3, device=device)\n",
    }
    assert ("pkg/uses.py" in _rewritten(place, codemod, files)) is not real


@pytest.mark.parametrize(
    ("kept", "word"),
    [
        ("cfg.device", True),
        ("str(device)", True),
        ("device", True),
        ("other", True),
        ("torch.device('cuda')", False),
        ("next(self.parameters()).device", False),
        ("getattr(self, '_device', None)", False),
        ("getattr(self, '_word', None)", True),
    ],
)
def test_what_a_base_class_of_another_file_keeps_as_its_device(
    place: Path, codemod: Callable[..., Ran], kept: str, word: bool
) -> None:
    """A word that was typed, or a parameter that says that it takes one."""
    files = {
        "pkg/__init__.py": "",
        "pkg/base.py": "import torch\n\n\nclass Base:\n    def __init__(self, cfg, device: str, other=None):\n"
        f"        self._device, self._word = torch.device(device), device\n        self.device = {kept}\n",
        "pkg/heir.py": "import torch\nfrom .base import Base\n\n\nclass Heir(Base):\n    def f(self):\n"
        "        return torch.zeros(3, device=self.device)\n",
    }
    assert ("pkg/heir.py" in _rewritten(place, codemod, files)) is word


@pytest.mark.parametrize(("folder", "kernels"), [("fast", 3), ("fast", 1), ("kernels", 2)])
def test_a_package_of_kernels_is_left_whole(
    place: Path, codemod: Callable[..., Ran], folder: str, kernels: int
) -> None:
    """What lies among kernels is there for them; a package with one kernel among others is no such package.

    One that is called after them needs fewer.
    """
    files = {"pkg/__init__.py": "", f"pkg/{folder}/__init__.py": ""}
    for number in range(4):
        helper = f"import torch\n\n\ndef at{number}():\n    return torch.cuda.current_device()\n"
        files[f"pkg/{folder}/m{number}.py"] = KERNEL if number < kernels else helper
    files["pkg/plain.py"] = "import torch\n\ntorch.cuda.synchronize()\n"
    files["pkg/other.py"] = files["pkg/third.py"] = files["pkg/plain.py"]
    changed = _rewritten(place, codemod, files)
    assert "pkg/plain.py" in changed
    assert (f"pkg/{folder}/m3.py" in changed) is (kernels == 1)


def test_a_constant_of_another_module_is_a_device(place: Path, codemod: Callable[..., Ran]) -> None:
    """Where each module that has such a name makes a device of it."""
    uses = "import torch\nfrom .settings import {0}\n\n\ndef f():\n    return torch.zeros(3, device={0})\n"
    files = {
        "pkg/__init__.py": "",
        "pkg/settings.py": 'import torch\n\nDEVICE = torch.device("cuda")\nDEVICE_NAME = "cuda"\n',
        "pkg/uses.py": uses.format("DEVICE"),
        "pkg/by_name.py": uses.format("DEVICE_NAME"),
        "pkg/of_another.py": uses.format("DEVICE").replace(".settings", "elsewhere"),
    }
    changed = {"pkg/settings.py", "pkg/by_name.py", "pkg/of_another.py"}
    assert _rewritten(place, codemod, files) == changed


def test_a_base_class_says_that_its_device_is_a_string(
    place: Path, codemod: Callable[..., Ran]
) -> None:
    """However far away it is; of other classes nothing is said."""
    made = "    def f(self):\n        return torch.zeros(3, device=self._device)\n"
    files = {
        "pkg/__init__.py": "",
        "pkg/base.py": "class Base:\n    _device: str\n",
        "pkg/middle.py": "from .base import Base\n\n\nclass Middle(Base):\n    device_of = 1\n",
        "pkg/impl.py": f"import torch\nfrom .middle import Middle\n\n\nclass Impl(Middle):\n{made}",
        "pkg/other.py": f"import torch\n\n\nclass Other(torch.nn.Module):\n{made}",
    }
    assert _rewritten(place, codemod, files) == {"pkg/impl.py"}


def test_the_gpus_class_beside_that_of_mps(place: Path, codemod: Callable[..., Ran]) -> None:
    text = "import torch\n\n\ndef at():\n    return torch.cuda.current_device()\n"
    names = ("pkg/device_gpu.py", "pkg/device_mps.py", "pkg/loads_gpu.py")
    files = {"pkg/__init__.py": "", **dict.fromkeys(names, text)}
    assert _rewritten(place, codemod, files) == {"pkg/device_mps.py", "pkg/loads_gpu.py"}


def test_modules_of_no_package_are_those_beside(place: Path, codemod: Callable[..., Ran]) -> None:
    """A script that imports its neighbour needs what that needs; a package of the same name elsewhere does not."""
    asks = "import torch\n\ntorch.cuda.synchronize()\n"
    files = {
        "serve/model.py": f"from runs_trt import Runner\n{asks}",
        "serve/runs_trt.py": "import tensorrt\n",
        "other/runs_trt.py": "x = 1\n",
        "other/model.py": f"from runs_trt import x\n{asks}",
        "lib/model/__init__.py": "",
        "lib/model/utils.py": asks,
        "lib/model/uses.py": f"import model.utils\n{asks}",
    }
    assert _rewritten(place, codemod, files) == {
        "other/model.py",
        "lib/model/utils.py",
        "lib/model/uses.py",
    }


@pytest.mark.parametrize(
    ("kept", "real"),
    [
        ("torch.device(device)", True),
        ("next(model.parameters()).device", True),
        ("device", False),
        ("cfg.device", False),
    ],
)
def test_an_object_that_is_called_after_its_class(
    place: Path, codemod: Callable[..., Ran], kept: str, real: bool
) -> None:
    """``self.estimator.device`` is what each ``…Estimator`` of the tree keeps."""
    files = {
        "pkg/__init__.py": "",
        "pkg/base.py": "import torch\n\n\nclass SmallEstimator:\n    def __init__(self, model, cfg, device):\n"
        f"        self.device = {kept}\n",
        "pkg/uses.py": "import torch\n\n\nclass Attack:\n    def __init__(self, estimator):\n"
        "        self.estimator = estimator\n\n    def f(self):\n"
        "        return torch.zeros(3, device=self.estimator.device)\n",
    }
    assert ("pkg/uses.py" in _rewritten(place, codemod, files)) is not real


@pytest.mark.parametrize("on_path", [True, False])
def test_a_package_that_puts_its_own_folder_on_the_path(
    place: Path, codemod: Callable[..., Ran], on_path: bool
) -> None:
    """What it imports by a name of that folder is the program's own, which the shims reach."""
    put = "import os\nimport sys\n\nsys.path.append(os.path.dirname(__file__))\n" if on_path else ""
    files = {
        "pkg/__init__.py": put,
        "pkg/parts/__init__.py": "def create(device):\n    return device\n",
        "pkg/hook.py": "import torch\nfrom parts import create\n\n\ndef hook():\n"
        "    device = 'cuda:0' if torch.cuda.is_available() else 'cpu'\n    return create(device=device)\n",
    }
    assert _rewritten(place, codemod, files) == {"pkg/hook.py"}
    assert ("str(tdev.device(" in (place / "pkg/hook.py").read_text()) is not on_path


OPS = "import torch\n\n\ndef make(n, device):\n    return torch.zeros(n, device=device)\n"
SHOWN = "from .ops import make\n\n\ndef go(x):\n    return make(3, x.device)\n"


@pytest.mark.parametrize(
    "caller",
    [
        "import sys\nfrom .ops import make\n\nmake(3, sys.argv[1])\n",
        "from .ops import make\n\n\ndef go(spec):\n    return make(3, **spec)\n",
        "from .ops import make \\\n    as build\n\n\ndef go(args):\n    return build(3, args.dev)\n",
        "from .ops import make; device = args.device; make(3, device)\n",
        "from .ops import make\n\nTABLE = {'make': make}\n",
        "from . import ops\n\nNAME = 'make'\n\n\ndef go(a):\n    return getattr(ops, NAME)(3, a.device)\n",
        "CONF = {'_target_': 'pkg.ops.make', 'device': 'cuda'}\n",
        "from .ops import make\n\n\ndef go(names):\n    return [make(3, device) for device in names]\n",
        "from .ops import make\n\n\ndef go(x, ctx):\n    device = x.device\n    with ctx as device:\n        pass\n"
        "    return make(3, device)\n",
        "from .ops import make\n\n\ndef go(cfg):\n    device = None\n    match cfg:\n"
        "        case {'device': device}:\n            pass\n    return make(3, device)\n",
        "from .ops import make\n\n\ndef go(rank):\n    device = None\n    device += f'cuda:{rank}'\n"
        "    return make(3, device)\n",
        "from .ops import make\n\ndevice = None\n\n\ndef setup(args):\n    global device\n    device = args.device\n\n\n"
        "def go():\n    return make(3, device)\n",
        "from .ops import make\n\n\ndef go(path):\n    return make(3, OmegaConf.load(path).device)\n",
        "from .ops import make\n\n\ndef go(x):\n    device = x.device\n\n    class K:\n        device = 'cuda'\n"
        "        a = make(3, device)\n",
    ],
)
def test_a_caller_that_may_give_a_word(
    place: Path, codemod: Callable[..., Ran], caller: str
) -> None:
    """However it comes to the function, and whatever gives its variable the value."""
    files = {
        "pkg/__init__.py": "",
        "pkg/ops.py": OPS,
        "pkg/shown.py": SHOWN,
        "pkg/caller.py": caller,
    }
    assert "pkg/ops.py" in _rewritten(place, codemod, files)


@pytest.mark.parametrize(
    ("ops", "shown"),
    [
        (OPS.replace("def make", "@click.command()\n@click.option('--device')\ndef make"), SHOWN),
        (OPS.replace("device):", "device=os.environ.get('DEV')):"), SHOWN + "\n\nmake(4)\n"),
        (
            OPS.replace(
                "    return", "    '''Make.\n\n    device: where, as 'cuda'.\n    '''\n    return"
            ),
            SHOWN,
        ),
        (OPS + "    return make(n - 1, device)\n", "x = 1\n"),
        (OPS, "from .ops import make\n\nmake(3, 'cpu')\n"),
    ],
)
def test_what_shows_no_device(
    place: Path, codemod: Callable[..., Ran], ops: str, shown: str
) -> None:
    """A command line's function, a default that was typed, a docstring's word, itself, a plain ``"cpu"``."""
    files = {"pkg/__init__.py": "", "pkg/ops.py": ops, "pkg/shown.py": shown}
    assert "pkg/ops.py" in _rewritten(place, codemod, files)


def test_only_tests_call_it(place: Path, codemod: Callable[..., Ran]) -> None:
    test = "import torch\nfrom pkg.ops import make\n\n\ndef test_make():\n    make(3, torch.device('cpu'))\n"
    files = {"pkg/__init__.py": "", "pkg/ops.py": OPS, "pkg/tests/test_ops.py": test}
    assert "pkg/ops.py" in _rewritten(place, codemod, files)


def test_a_notebook_calls_it(place: Path, codemod: Callable[..., Ran]) -> None:
    cell = '{"cell_type": "code", "source": ["from pkg.ops import make\\n", "make(3, \'cuda\')"]}'
    files = {
        "pkg/__init__.py": "",
        "pkg/ops.py": OPS,
        "pkg/shown.py": SHOWN,
        "use.ipynb": f'{{"cells": [{cell}], "metadata": {{}}, "nbformat": 4, "nbformat_minor": 5}}',
    }
    assert "pkg/ops.py" in _rewritten(place, codemod, files)


def test_an_expression_that_is_nested_too_deeply(place: Path, codemod: Callable[..., Ran]) -> None:
    """One function is not told then; the others are."""
    deep = (
        "from .ops import make\n\n\ndef go(x):\n    return make(3, x"
        + ".add(1)" * 400
        + ".device)\n"
    )
    files = {"pkg/__init__.py": "", "pkg/ops.py": OPS, "pkg/shown.py": SHOWN, "pkg/deep.py": deep}
    assert "pkg/ops.py" in _rewritten(place, codemod, files)


@pytest.mark.parametrize(("name", "told"), [("make", False), ("_make", True)])
def test_a_module_of_a_program_does_not_show_who_else_calls_it(name: str, told: bool) -> None:
    """What is run has no tree: a function that only its own file calls is known by its name alone."""
    source = (
        f"import torch\n\n\ndef {name}(n, device):\n    return torch.zeros(n, device=device)\n\n\n"
        f"def like(x):\n    return {name}(x.shape, x.device)\n"
    )
    tree, _, _ = rewritten_tree(source.encode(), "case.py")
    assert (tree is None) is told


ZEROS = "torch.zeros(3, device={0})"
# Each may be a word for all that its tree shows.
ROTARY = (
    "import torch\nfrom torch import nn\n\n\nclass Rotary(nn.Module):\n    def forward(self, n, device):\n"
    f"        return {ZEROS.format('device')}\n"
)
NET = (
    "\n\nclass Net(nn.Module):\n    def __init__(self):\n        self.rotary = Rotary()\n\n"
    "    def forward(self, x):\n        {}\n        return self.rotary(3, x.device)\n"
)
WORDS = {
    "a module that calls itself": {
        "a.py": f"{ROTARY}\n    def more(self, n):\n        return self(n, 'cuda')\n{NET.format('')}"
    },
    "a module that calls its forward": {
        "a.py": f"{ROTARY}\n    def more(self, n):\n        return self.forward(n, 'cuda')\n{NET.format('')}"
    },
    "a module that is looked for": {
        "a.py": f"{ROTARY}{NET.format('[m(4, `cuda`) for m in self.modules() if isinstance(m, Rotary)]').replace('`', chr(39))}"
    },
    "a module that a method gives": {
        "a.py": f"{ROTARY}{NET.format('self.rotary.eval()(4, `cuda`)').replace('`', chr(39))}"
    },
    "a module by the name of its attribute": {
        "a.py": f"{ROTARY}{NET.format('self.get_submodule(`rotary`)(4, `cuda`)').replace('`', chr(39))}"
    },
    "one of several by another function of the name": {
        "pkg/__init__.py": "",
        "pkg/b.py": "import torch\n\n\nclass Planner:\n    def plan(self, args) -> tuple[int, torch.device]:\n"
        "        return 1, torch.device('cpu')\n",
        "pkg/a.py": "import torch\n\n\nclass Runner:\n    def __init__(self, device='cuda'):\n        self.kept = device\n\n"
        "    def plan(self, args):\n        return 1, self.kept\n\n\ndef go(runner, args):\n"
        f"    n, device = runner.plan(args)\n    return {ZEROS.format('device')}\n",
    },
    "a layer": {
        "a.py": "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def forward(self, x, device):\n"
        f"        return x + {ZEROS.format('device')}\n\n\nNet()(torch.ones(3), 'cuda')\n"
    },
    "a number": {
        "a.py": f"import torch\n\n\ndef f(x: torch.Tensor):\n    return {ZEROS.format('x.get_device()')}\n"
    },
    "a function of a module": {
        "pkg/__init__.py": "",
        "pkg/utils.py": "def get_device():\n    return 'cuda'\n",
        "a.py": f"import torch\nfrom pkg import utils\n\n\ndef f():\n    return {ZEROS.format('utils.get_device()')}\n",
    },
    "a field": {
        "b.py": "from pydantic import BaseModel\n\n\nclass InferenceRequest(BaseModel):\n    device: str = 'cuda'\n",
        "a.py": f"import torch\n\n\ndef f(request):\n    return {ZEROS.format('request.device')}\n",
    },
    "a variable of a class": {
        "b.py": "class Session(Base):\n    device = 'cuda'\n",
        "a.py": f"import torch\n\n\ndef f(session):\n    return {ZEROS.format('session.device')}\n",
    },
    "what a plain heir is given": {
        "b.py": "class Worker(Thread):\n    def __init__(self, **given):\n        vars(self).update(given)\n",
        "a.py": f"import torch\n\n\ndef f(worker):\n    return {ZEROS.format('worker.device')}\n",
    },
    "a class that is called as a module": {
        "pkg/__init__.py": "",
        "pkg/trainer.py": "import torch\n\ndevice = torch.device('cpu')\n\n\nclass Trainer:\n"
        "    def __init__(self, device='cuda'):\n        self.device = device\n",
        "a.py": f"import torch\n\n\ndef f(trainer):\n    return {ZEROS.format('trainer.device')}\n",
    },
    "a word after the string": {
        "a.py": "import torch\n\n\ndef f(device):\n    if isinstance(device, str):\n        device = torch.device(device)\n"
        "    if device is None:\n        device = pick()\n"
        f"    return {ZEROS.format('device')}\n",
    },
    "an item after the string": {
        "a.py": "import torch\n\n\ndef f(device, devices):\n    if isinstance(device, str):\n        device = torch.device(device)\n"
        f"    for device in devices:\n        print({ZEROS.format('device')})\n",
    },
    "something else than the string": {
        "a.py": "import torch\n\n\ndef f(device):\n    if isinstance(device, str):\n        device = torch.device(device)\n"
        f"    else:\n        device = get('name')\n    return {ZEROS.format('device')}\n",
    },
    "other arguments": {
        "a.py": "import torch\n\n\ndef f(args):\n    args.device = torch.device(args.device)\n    args = load(args.path)\n"
        f"    return {ZEROS.format('args.device')}\n",
    },
    "arguments by their names": {
        "a.py": "import torch\n\n\ndef f(args, more):\n    args.device = torch.device(args.device)\n"
        "    for key, value in more.items():\n        setattr(args, key, value)\n"
        f"    return {ZEROS.format('args.device')}\n",
    },
    "an attribute before it is made one": {
        "a.py": "import torch\n\n\nclass A:\n    def __init__(self, device='cuda'):\n        self.device = device\n"
        f"        self.x = {ZEROS.format('self.device')}\n\n    def sync(self):\n        self.device = torch.device(self.device)\n"
        "        return self.device.type\n",
    },
    "what a class of tests lists": {
        "tests/conftest.py": FIXTURE.format("@pytest.fixture", "return torch.device('cpu')"),
        "a.py": "",
        "tests/test_a.py": "import pytest\nimport torch\n\n\n@pytest.mark.parametrize('device', ['cuda', 'cpu'])\nclass TestIt:\n"
        f"    def test_it(self, device):\n        assert {ZEROS.format('device')} is not None\n",
    },
    "a function called test": {
        "tests/conftest.py": FIXTURE.format("@pytest.fixture", "return torch.device('cpu')"),
        "a.py": f"import torch\n\n\ndef test(model, device, loader):\n    return {ZEROS.format('device')}\n",
    },
    "what another class says of it": {
        "b.py": "class A:\n    def sample(self, n, device):\n"
        '        """Sample.\n\n        device (torch.device): where.\n        """\n',
        "a.py": f"import torch\n\n\nclass B:\n    def sample(self, n, device):\n        return {ZEROS.format('device')}\n",
    },
    "a name behind a device": {
        "a.py": "import torch\n\n\ndef f(x: torch.Tensor, name):\n    d = x.device if name is None else None\n"
        + "    return torch.zeros(3, device=f'{d}{name}')\n",
    },
    "what is compared": {
        "a.py": "import torch\n\n\ndef f(path):\n    return torch.load(path) == 3\n",
    },
    "a script of a class that keeps a word": {
        "b.py": "import torch\n\n\nclass Norm(torch.nn.Module):\n    def __init__(self):\n        self.device = 'cuda:0'\n\n"
        "    def forward(self, x):\n        return x.to(self.device)\n",
        "a.py": "import torch\nfrom b import Norm\n\nscript = torch.jit.script(Norm())\n",
    },
    "a unit of speed": {
        "pkg/__init__.py": "",
        "pkg/units.py": "SPEED_UNITS = ['kph', 'mps']\n",
        "pkg/a.py": "import torch\n\n\ndef f(x: torch.Tensor):\n    half = x.device.type == 'cuda'\n    return half\n",
        "a.py": "",
    },
    "a comment on double precision": {
        "a.py": "import torch\n\n# Tensors of torch.float64 are cast first.\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'\n",
    },
    "a handler of other faults": {
        "a.py": "import torch\n\ntry:\n    scaler = torch.amp.GradScaler('cuda')\nexcept RuntimeError:\n"
        "    torch.cuda.empty_cache()\n    scaler = torch.cuda.amp.GradScaler()\n",
    },
}


@pytest.mark.parametrize("what", WORDS)
def test_what_shows_less_than_it_seems(place: Path, codemod: Callable[..., Ran], what: str) -> None:
    """A cold reader of the engine got each of these past it."""
    files = WORDS[what]
    changed = _rewritten(place, codemod, files)
    wanted = next((n for n in ("tests/test_a.py", "pkg/a.py") if n in files), "a.py")
    assert wanted in changed
    text = (place / wanted).read_text()
    assert "torch.zeros(" not in text and "torch.cuda.empty_cache" not in text
    codemod("--force", ".", engine=REAL)
    assert (place / wanted).read_text() == text


def test_states_that_are_kept_stay_in_a_second_run(
    place: Path, codemod: Callable[..., Ran]
) -> None:
    """Once what saves and loads them is tdev's."""
    text = (
        "import torch\n\nif torch.cuda.is_available():\n    state = torch.cuda.get_rng_state()\n\n\n"
        "def save(path, x):\n    torch.save({'x': x}, path)\n\n\ndef load(path):\n    return torch.load(path)\n"
    )
    assert _rewritten(place, codemod, {"a.py": text}) == {"a.py"}
    first = (place / "a.py").read_text()
    codemod("--force", ".", engine=REAL)
    assert "torch.cuda.get_rng_state" in first
    assert (place / "a.py").read_text() == first


TAKES_TWO = (
    'import torch\n\n\ndef autocast(kind):\n    if kind == "cpu":\n        return torch.no_grad()\n    elif kind == "cuda":\n'
    '        return torch.enable_grad()\n    else:\n        raise ValueError(f"Unsupported device type: {kind}")\n'
)
IN_LIST = (
    'class Unit:\n    def __init__(self, path, device):\n        assert device in ["cpu", "cuda"]\n'
)
IN_DOUBLE = "def path(x):\n    return trace(x.double().cpu().numpy())\n"
DOUBLED = "def path(x, shift):\n    x = x.double()\n    return (x[:, 0] - shift).cpu().numpy()\n"
TOLD = "import ctranslate2\n\n\nclass Unit:\n    def __init__(self, path, device):\n        self.model = ctranslate2.models.Whisper(path, device=device)\n"
CHOICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")'
SAID = (
    "if torch.cuda.is_available():\n        print('on CUDA')\n        device = torch.device('cuda')\n"
    "    else:\n        device = torch.device('cpu')\n"
)


@pytest.mark.parametrize(
    ("refusing", "using"),
    [
        (TAKES_TWO, "class Net:\n    @classmethod\n    def load(cls):\n        {}\n        return cls().to(device)\n\n    def forward(self, x):\n        with autocast(x.device.type):\n            return x\n"),
        (IN_LIST, "def load(path):\n    {}\n    return refusing.Unit(path, device=device.type)\n"),
        (IN_LIST.replace("device)", 'device: Literal["cuda", "cpu"])').replace("assert", "# assert"), "def load(path):\n    {}\n    return Unit(path, device=device.type)\n"),
        (IN_DOUBLE, "def align(x):\n    return path(x)\n\n\ndef run(x):\n    {}\n    return align(x.to(device))\n"),
        (IN_DOUBLE, "{}\n\n\npath(torch.zeros(3), device)\n"),
        (DOUBLED, "def run(x):\n    {}\n    return path(x.to(device), 1)\n"),
        (DOUBLED, f"def run(x):\n    {SAID}    return path(x.to(device), 1)\n"),
        (TOLD, "class Client:\n    def __init__(self):\n        {}\n        self.make(device.type)\n\n    def make(self, device):\n        self.unit = Unit('base', device=device)\n"),
    ],
)  # fmt: skip
def test_a_device_for_what_refuses_others_stays(
    place: Path, codemod: Callable[..., Ran], refusing: str, using: str
) -> None:
    """What ran on a Mac's CPU would raise there if it were given MPS."""
    other = f"import torch\n\n\ndef other():\n    {CHOICE}\n    return torch.zeros(3).to(device)\n"
    files = {
        "pkg/__init__.py": "",
        "pkg/refusing.py": refusing,
        "pkg/using.py": f"import torch\nfrom . import refusing\n\n\n{using.format(CHOICE)}",
        "pkg/other.py": other,
    }
    assert _rewritten(place, codemod, files) == {"pkg/other.py"}


@pytest.mark.parametrize(
    ("refusing", "whose"),
    [(IN_LIST, "Unit"), (IN_DOUBLE, "path"), (TOLD, "ctranslate2.models.Whisper")],
)
def test_whose_device_it_is_is_named(
    place: Path, codemod: Callable[..., Ran], refusing: str, whose: str
) -> None:
    """And not who uses that by what uses it."""
    called = "path" if "def path" in refusing else "Unit"
    files = {
        "refusing.py": refusing,
        "uses.py": f"from refusing import {called}\n\n\ndef align(x, device):\n    return {called}(x, device)\n",
        "runs.py": f"import torch\nfrom uses import align\n\n\ndef main(x):\n    {CHOICE}\n    return align(x, device)\n",
    }
    assert _rewritten(place, codemod, files) == set()
    ran = codemod("--verbose", "--force", ".", engine=REAL)
    assert f"guards the device of {whose}, which works on CUDA" in ran.out + ran.err


def test_who_only_speaks_of_what_refuses_others_is_given_any(
    place: Path, codemod: Callable[..., Ran]
) -> None:
    """A docstring calls nothing."""
    files = {
        "pkg/__init__.py": "",
        "pkg/refusing.py": IN_DOUBLE,
        "pkg/using.py": f'import torch\n\n\ndef load(x):\n    """Read what path() gave."""\n    # path() has saved it\n    {CHOICE}\n    return x.to(device)\n',
    }
    assert _rewritten(place, codemod, files) == {"pkg/using.py"}


def test_a_word_that_passes_its_own_check_is_chosen_anew(
    place: Path, codemod: Callable[..., Ran]
) -> None:
    """It is CUDA's, whatever it stands for."""
    text = (
        'import torch\n\n\ndef make(n, device=None):\n    if device is None:\n        device = "cuda" if torch.cuda.is_available() else "cpu"\n'
        '    assert device in ("cuda", "cpu")\n    return torch.zeros(n, device=device)\n'
    )
    _rewritten(place, codemod, {"a.py": text})
    assert '"cuda" if tdev.cuda.is_available()' in (place / "a.py").read_text()


def test_a_package_of_the_tree_is_no_library_of_its_name(
    place: Path, codemod: Callable[..., Ran]
) -> None:
    """Also where a script finds it in the folder above, from where it takes its other modules."""
    choice = 'device = "cuda" if torch.cuda.is_available() else "cpu"'
    files = {
        "whisper/__init__.py": "def load(device):\n    pass\n",
        "test_whisper.py": f"import torch\nimport whisper\n\n\ndef test():\n    {choice}\n    whisper.load(device=device)\n",
        "tool/__init__.py": "",
        "tool/clap/open_clip/__init__.py": "def create(device):\n    pass\n",
        "tool/clap/training/__init__.py": "",
        "tool/clap/training/data.py": "",
        "tool/clap/training/infer.py": "import torch\nfrom open_clip import create\nfrom training.data import read\nfrom timm import create_model\n\n\n"
        f"def infer():\n    {choice}\n    return create(device=device), read\n\n\ndef other():\n    {choice}\n    return create_model(device=device)\n",
    }
    _rewritten(place, codemod, files)
    assert "str(" not in (place / "test_whisper.py").read_text()
    changed = (place / "tool/clap/training/infer.py").read_text()
    first, _, second = changed.partition("def other")
    assert '"cuda" if tdev.cuda.is_available()' in first and "str(tdev.device(" in second


def test_a_word_that_goes_to_a_library_is_reported(
    place: Path, codemod: Callable[..., Ran]
) -> None:
    """Which calls torch itself, and is no part of the tree."""
    text = (
        "import pyro\nimport torch\nfrom own import plate\n\n\nclass Model:\n    def __init__(self, on):\n        if on:\n"
        '            self.device = "cuda"\n        else:\n            self.device = "cpu"\n\n    def run(self, n):\n'
        '        plate("d", n, device=self.device)\n        with pyro.plate("d", n, device=self.device):\n            torch.cuda.synchronize()\n'
    )
    for name, source in {"a.py": text, "own.py": "def plate(name, n, device):\n    pass\n"}.items():
        (place / name).write_text(source)
    ran = codemod("--verbose", "--force", ".", engine=REAL)
    said = ran.out + ran.err
    assert said.count("which calls torch itself") == 1 and "pyro.plate" in said


LOADS = {
    "pkg/__init__.py": "",
    "pkg/load.py": "from hooked_models import Hooked\n\n\ndef load_model(name, device='cpu'):\n    return Hooked.from_pretrained(name, device=device)\n\n\n"
    "def load_two(name, device: str):\n    return [load_model(name + end, device=device) for end in 'ab']\n",
    "pkg/runner.py": "from pkg.load import load_model\n\n\ndef start(cfg):\n    return load_model('base', device=cfg.device)\n",
}
WORD = '"cuda" if torch.cuda.is_available() else "cpu"'


@pytest.mark.parametrize(
    ("text", "who"),
    [
        (f"class RunConfig:\n    device: str = {WORD}\n", "who reads RunConfig"),
        (f"import argparse\nfrom hooked_models import Hooked\n\nparser = argparse.ArgumentParser()\nparser.add_argument('--device', default={WORD})\n"
         "args = parser.parse_args()\nHooked.from_pretrained('base', device=args.device)\n", "this file"),
    ],
)  # fmt: skip
def test_a_word_of_settings_that_are_handed_to_a_library_stays(
    place: Path, codemod: Callable[..., Ran], text: str, who: str
) -> None:
    """The package would look for CUDA, where it is told of the CPU today."""
    files = LOADS | {"pkg/made.py": f"import torch\n{text}"}
    assert _rewritten(place, codemod, files) == set()
    ran = codemod("--verbose", "--force", ".", engine=REAL)
    assert f"a word that {who} hands to a package" in ran.out + ran.err


def test_a_word_of_settings_goes_with_what_else_their_readers_take_to_cuda(
    place: Path, codemod: Callable[..., Ran]
) -> None:
    """Model and numbers would lie on two devices otherwise; the package is told of the word, and so is the reader."""
    files = LOADS | {
        "pkg/made.py": f"import torch\n\n\nclass RunConfig:\n    device: str = {WORD}\n"
    }
    files["pkg/runner.py"] = (
        "import torch\n" + LOADS["pkg/runner.py"] + "\n\ndef numbers(cfg, x):\n"
        '    if cfg.device == "cuda":\n        torch.cuda.synchronize()\n'
        "    return x.cuda() if torch.cuda.is_available() else x\n"
    )
    typed = (
        "import argparse\nimport torch\nfrom hooked_models import Hooked\n\nparser = argparse.ArgumentParser()\n"
        f"parser.add_argument('--device', choices=['cuda', 'cpu'], default={WORD})\nargs = parser.parse_args()\n"
        "model = Hooked.from_pretrained('base', device=args.device)\n"
    )
    files["pkg/typed.py"] = typed
    files["pkg/asks.py"] = (
        typed + "x = torch.ones(3)\nif torch.cuda.is_available():\n    x = x.cuda()\n"
    )
    files["pkg/gives.py"] = typed + "from pkg.runner import numbers\n\nnumbers(args, model)\n"
    changed = _rewritten(place, codemod, files)
    assert {"pkg/made.py", "pkg/runner.py", "pkg/asks.py", "pkg/gives.py"} <= changed
    assert "pkg/typed.py" not in changed
    for name in ("made", "asks", "gives"):
        assert '"cuda" if tdev.cuda.is_available()' in (place / f"pkg/{name}.py").read_text()
    ran = codemod("--verbose", "--force", ".", engine=REAL)
    assert (ran.out + ran.err).count("hands it to a package which calls torch itself") == 3


def test_a_word_that_another_file_hands_to_a_library_is_the_device(
    place: Path, codemod: Callable[..., Ran]
) -> None:
    """As where the library is called here: it and what else the function moves lie on the one that there is."""
    files = LOADS | {
        "pkg/made.py": "import torch\nfrom pkg.load import load_two\n\n\ndef run(x):\n"
        f"    device = {WORD}\n    models = load_two('base', device=device)\n"
        "    if torch.cuda.is_available():\n        x = x.cuda()\n    return [model(x) for model in models]\n\n\n"
        f"def straight():\n    return load_two('base', device={WORD})\n",
    }
    _rewritten(place, codemod, files)
    changed = (place / "pkg/made.py").read_text()
    assert changed.count("tdev.cuda.is_available()") == 3
    assert changed.count('str(tdev.device("cuda")) if tdev.cuda.is_available()') == 2


def test_a_word_that_no_library_is_handed_is_chosen_anew(
    place: Path, codemod: Callable[..., Ran]
) -> None:
    """Whoever makes a device of it, or is of the tree."""
    made = (
        f"import torch\nfrom pkg.load import load_model, place\n\n\ndef run(x):\n    device = {WORD}\n    return x.to(device), place('base', device=device)\n\n\n"
        f"def other():\n    device = torch.device({WORD})\n    return load_model('base', device=device)\n"
    )
    files = LOADS | {
        "pkg/made.py": made,
        "pkg/config.py": f"import torch\n\n\nclass RunConfig:\n    device: str = {WORD}\n",
    }
    files |= {
        "pkg/load.py": LOADS["pkg/load.py"]
        + "\n\ndef place(name, device):\n    device = torch.device(device)\n    return load_model(name).to(device)\n",
        "pkg/runner.py": "from pkg.load import place\n\n\ndef start(cfg):\n    return place('base', device=cfg.device)\n",
    }
    assert _rewritten(place, codemod, files) >= {"pkg/made.py", "pkg/config.py"}
    changed = (place / "pkg/made.py").read_text()
    assert changed.count("tdev.cuda.is_available()") == 2


SPOKEN = "class DeviceOption:\n    AUTO = True\n    CPU = 'cpu'\n    CUDA = 'cuda'\n\n\nCUDA_DEVICE = 'cuda'\n"
ASKS = (
    "import torch\n\nfrom {}\n\n\ndef restore(path, config):\n    torch.load(path, map_location={})\n"
    "    if config.device.type == {}:\n        torch.cuda.empty_cache()\n"
)


@pytest.mark.parametrize(
    ("imported", "cpu", "cuda", "other", "read"),
    [
        (".flags import DeviceOption", "DeviceOption.CPU", "DeviceOption.CUDA", "", True),
        ("pkg.flags import DeviceOption as D", "D.CPU", "D.CUDA", "", True),
        ("pkg import flags", "flags.DeviceOption.CPU", "flags.CUDA_DEVICE", "", True),
        (".flags import CUDA_DEVICE", "'cpu'", "CUDA_DEVICE", "", True),
        ("pkg import CUDA_DEVICE", "'cpu'", "CUDA_DEVICE", "", True),
        ("others import DeviceOption", "DeviceOption.CPU", "DeviceOption.CUDA", "", False),
        (
            ".flags import DeviceOption",
            "DeviceOption.CPU",
            "DeviceOption.CUDA",
            "from .flags import DeviceOption\n\nDeviceOption.CPU = DeviceOption.CUDA = input()\n",
            False,
        ),
        (
            ".flags import DeviceOption",
            "DeviceOption.CPU",
            "DeviceOption.CUDA",
            "class DeviceOption:\n    CPU = 'cpu:0'\n    CUDA = 0\n",
            False,
        ),
    ],
)
def test_what_classes_and_modules_call_a_device_by(
    place: Path,
    codemod: Callable[..., Ran],
    imported: str,
    cpu: str,
    cuda: str,
    other: str,
    read: bool,
) -> None:
    """A constant of another file is the word that it holds, where nothing in the tree gives it another."""
    files = {
        "pkg/__init__.py": "from .flags import CUDA_DEVICE\n",
        "pkg/flags.py": SPOKEN,
        "pkg/asks.py": ASKS.format(imported, cpu, cuda),
        "pkg/other.py": other,
    }
    _rewritten(place, codemod, files)
    text = (place / "pkg/asks.py").read_text()
    assert ("torch.load(" in text) == (read or cpu == "'cpu'")
    assert ("tdev.is_accelerator(config.device.type)" in text) == read


@pytest.mark.parametrize(
    "other", ["", "from pkg import torch\n", "import pkg\n\nprint(pkg.torch)\n"]
)
def test_a_package_gives_torch_to_others(
    place: Path, codemod: Callable[..., Ran], other: str
) -> None:
    """Anybody may ask it for its torch, as an attribute or by an import, whatever it uses torch for itself."""
    files = {
        "pkg/__init__.py": "import torch\n\n\ndef make():\n    return torch.cuda.is_available()\n",
        "pkg/other.py": other,
    }
    _rewritten(place, codemod, files)
    assert "import torch" in (place / "pkg/__init__.py").read_text()


ESTIMATORS = (
    "import torch\n\n\nclass Yolo:\n    def __init__(self, use_gpu):\n"
    "        self._device = torch.device('cuda' if use_gpu else 'cpu')\n\n"
    "    @property\n    def device(self) -> 'torch.device':\n        return self._device\n\n\n"
    "class Remote:\n    def __init__(self, address):\n        self.device = address.split('@')[0]\n"
)
BASE = (
    "class Attack:\n    def __init__(self, estimator):\n        self._estimator = estimator\n\n"
    "    @property\n    def estimator(self):\n        return self._estimator\n"
)
ALIASES = (
    "from typing import TYPE_CHECKING, Union\n\nif TYPE_CHECKING:\n    from .estimators import Remote, Yolo\n\n"
    "    DETECTOR = Union[Yolo]\n    EITHER = Union[\n        Yolo,\n        Remote,\n    ]\n"
)
ATTACK = (
    "import torch\n\nfrom .base import Attack\nfrom .aliases import *\n\n\nclass Flicker(Attack):\n"
    "    def __init__(self, {parameter}):\n        super().__init__(estimator={given})\n\n"
    "    def start(self, n):\n        return torch.zeros(n, device=self.estimator.device)\n"
)


@pytest.mark.parametrize(
    ("parameter", "given", "real"),
    [
        ("yolo: 'Yolo'", "yolo", True),
        ("yolo: 'Yolo | None' = None", "yolo", True),
        ("estimator: 'DETECTOR'", "estimator", True),
        ("estimator: 'EITHER'", "estimator", False),
        ("estimator: 'Remote'", "estimator", False),
        ("estimator", "estimator", False),
        ("yolo: 'Yolo'", "wrap(yolo)", False),
    ],
)
def test_the_device_of_what_is_handed_to_a_base(
    place: Path, codemod: Callable[..., Ran], parameter: str, given: str, real: bool
) -> None:
    """What a base class keeps is of the class that the constructor's annotation names, an alias's classes among them."""
    files = {
        "pkg/__init__.py": "",
        "pkg/estimators.py": ESTIMATORS,
        "pkg/base.py": BASE,
        "pkg/aliases.py": ALIASES,
        "pkg/attack.py": ATTACK.format(parameter=parameter, given=given),
    }
    _rewritten(place, codemod, files)
    assert ("torch.zeros(" in (place / "pkg/attack.py").read_text()) == real
