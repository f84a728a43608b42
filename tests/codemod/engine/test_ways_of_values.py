"""Each way in which a device comes to where torch is given it: a real one is left, what may be a word is tdev's."""

from __future__ import annotations

import time
from pathlib import PurePath

import pytest

from tdev_core.codemod.engine import Names, Options, Survey, rewrite
from tests.codemod.small_trees import migrated

MAKES = "    return torch.zeros(3, device={})\n"


def changed(files: dict[str, str], name: str) -> bool:
    """Tell whether a file of a tree gets tdev's functions."""
    return "tdev." in migrated(files, name).code


def function(body: str, made_of: str = "device", parameters: str = "found, more") -> str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"import torch\n\n\ndef f({parameters}):\n{lines}{MAKES.format(made_of)}"


@pytest.mark.parametrize(
    ("body", "real"),
    [
        ("n, device = next((x.shape, x.device) for x in more if x is not None)", True),
        ("n, device = next((x.shape, cfg.device) for x in more if x is not None)", False),
        ("*shape, device = *found.shape, found.new_zeros(1).device", True),
        ("first, *rest = [x.device for x in more]\ndevice = rest[0]", True),
        ("first, *rest = [cfg.device for cfg in more]\ndevice = rest[0]", False),
        ("devices = []\nfor x in more:\n    devices.append(x.device)\ndevice = devices[0]", True),
        ("devices = []\nfor w in more:\n    devices.append(w)\ndevice = devices[0]", False),
        ("devices = [found.detach().device]\ndevices += more\ndevice = devices[0]", False),
        ("kept = {'at': found.detach().device}\ndevice = kept['at']", True),
        ("kept = {'at': found.detach().device}\nkept['at'] = more\ndevice = kept['at']", False),
        ("kept = dict(more)\nkept['at'] = found.detach().device\ndevice = kept['at']", True),
        ("kept = {x: x.device for x in more}\ndevice = list(kept.values())[0]", True),
        ("kept = {k: k for k in more}\ndevice = list(kept.values())[0]", False),
        ("device = {x.device.type for x in more}.pop()", True),
        ("for i, (name, x) in enumerate(zip(found, more)):\n    device = x.device", True),
        ("for i, (name, device) in enumerate(zip(found, more)):\n    pass", False),
    ],
)
def test_a_way_within_a_function(body: str, real: bool) -> None:
    assert changed({"made.py": function(body)}, "made.py") is not real


SPECS = "import torch\n\n\ndef spec_of(x: torch.Tensor{more}):\n    return {given}\n"
USES = "import torch\nfrom .specs import spec_of\n\n\ndef f(found):\n    shape, device = spec_of(found)\n"


@pytest.mark.parametrize(
    ("given", "real"),
    [
        ("x.shape, x.device", True),
        ("x.shape, torch.device('cpu')", True),
        ("(x.shape, x.device) if len(x) else (None, x.device)", True),
        ("x.shape, where", False),
        ("where", False),
    ],
)
def test_one_of_what_another_files_function_gives(given: str, real: bool) -> None:
    files = {
        "specs.py": SPECS.format(more=", where=None", given=given),
        "uses.py": USES + MAKES.format("device"),
    }
    assert changed(files, "uses.py") is not real


@pytest.mark.parametrize(
    ("method", "real"),
    [("self.data['boxes'].device", True), ("self.where", False), ("self.cfg.device", False)],
)
def test_a_method_of_the_class_that_a_parameter_is_annotated_with(method: str, real: bool) -> None:
    files = {
        "lists.py": f"class BoxList:\n    def device(self):\n        return {method}\n",
        "uses.py": "import torch\nfrom .lists import BoxList\n\n\ndef f(anchors: BoxList):\n"
        "    device = anchors.device()\n" + MAKES.format("device"),
    }
    assert changed(files, "uses.py") is not real


@pytest.mark.parametrize(
    ("call", "real"),
    [
        ("self.mask(3, x.device)", True),
        ("self.mask(3, self.cfg.device)", False),
        ("self.mask", False),
    ],
)
def test_a_function_that_an_attribute_keeps(call: str, real: bool) -> None:
    text = (
        "import torch\n\n\ndef plain(n, device):\n    return torch.ones(n, device=device)\n\n\n"
        "def other(n, device):\n    return None\n\n\nclass Attend:\n    def __init__(self, cfg, on):\n"
        f"        self.cfg = cfg\n        self.mask = plain if on else other\n\n    def f(self, x):\n        return {call}\n"
    )
    assert changed({"attend.py": text}, "attend.py") is not real


@pytest.mark.parametrize(
    ("calls", "real"),
    [("again(2, found.detach().device)", True), ("again(2)", False), ("again(2, more)", False)],
)
def test_a_function_in_another_one(calls: str, real: bool) -> None:
    """Who calls it is all there; what its default says counts where one of them leaves it to that."""
    body = f"def again(n, device='cuda'):\n    return torch.randint(0, n, (2,), device=device)\nout = {calls}"
    text = f"import torch\n\n\ndef f(found, more):\n    {body.replace(chr(10), chr(10) + '    ')}\n    return out\n"
    assert changed({"again.py": text}, "again.py") is not real


def class_of(more: str, made_of: str) -> str:
    return (
        "import torch\n\n\nclass First:\n    def __init__(self, x):\n        self.kept = {'at': x.detach().device}\n"
        "        self.all = [x.detach().device]\n\n    def where(self, x):\n        return x.detach().device\n\n"
        "    @property\n    def place(self):\n        return self.where(torch.ones(1))\n\n"
        "    @property\n    def device(self):\n        return self.where(torch.ones(1))\n\n"
        f"    def f(self, x):\n        device = {made_of}\n    {MAKES.format('device')}\n{more}"
    )


@pytest.mark.parametrize("elsewhere", [True, False])
@pytest.mark.parametrize(
    ("made_of", "heirs", "real"),
    [
        ("self.where(x)", "def where(self, x):\n        return self.cfg", False),
        ("self.where(x)", "def where(self, x):\n        return x.detach().device", True),
        ("self.where(x)", "def other(self, x):\n        return self.cfg", True),
        ("self.place", "@property\n    def place(self):\n        return self.cfg", False),
        ("self.place", "place = 'cuda'", False),
        ("self.device", "@property\n    def device(self):\n        return 'cuda'", False),
        # What is called by that name is trusted to be one.
        ("self.device", "@property\n    def device(self):\n        return self.part.place", True),
        ("self.kept['at']", "def add(self, d):\n        self.kept['at'] = d", False),
        ("self.kept['at']", "def add(self, d):\n        self.kept = d", False),
        (
            "self.kept['at']",
            "def add(self, d):\n        return self.kept['at'], len(self.kept)",
            True,
        ),
        ("self.all[0]", "def add(self, d):\n        all = self.all\n        all.append(d)", False),
        ("self.all[0]", "def add(self, d):\n        all = self.all\n        return all[0]", True),
        ("self.all[0]", "def add(self, d):\n        change(self.all, d)", False),
    ],
)
def test_what_heirs_have_of_their_own(
    made_of: str, heirs: str, real: bool, elsewhere: bool
) -> None:
    heir = f"class Second({{}}First):\n    {heirs}\n"
    if elsewhere:
        files = {
            "first.py": class_of("", made_of),
            "second.py": "from . import first\n\n\n" + heir.format("first."),
        }
    else:
        files = {"first.py": class_of("\n\n" + heir.format(""), made_of)}
        alone = rewrite(files["first.py"], Names.load(), Options(), filename="/src/first.py")
        # An object's own device is trusted where no tree says otherwise.
        assert ("tdev." in alone.code) is not (real or made_of == "self.device")
    assert changed(files, "first.py") is not real


@pytest.mark.parametrize(
    ("made_of", "outside", "real"),
    [
        ("self.kept['at']", "made.kept['at'] = w", False),
        ("self.kept['at']", "made.kept.update(at=w)", False),
        ("self.kept['at']", "print(made.kept['at'])", True),
        ("self.all[0]", "made.all.append(w)", False),
        ("self.all[0]", "found = made.all\n    found.append(w)", False),
        ("self.all[0]", "change(made.all)", False),
        ("self.all[0]", "for each in made.all:\n        print(each)", True),
    ],
)
def test_what_others_put_into_an_attribute(made_of: str, outside: str, real: bool) -> None:
    files = {
        "first.py": class_of("", made_of),
        "uses.py": f"def change_it(made, w):\n    {outside}\n",
    }
    assert changed(files, "first.py") is not real


@pytest.mark.parametrize(
    ("made_of", "by", "real"),
    [
        ("_KEPT['at']", "_KEPT['at'] = w", False),
        ("_KEPT['at']", "_KEPT.update(w)", False),
        ("_KEPT['at']", "print(_KEPT)", True),
        ("_KEPT['at']", "_KEPT = {'at': w}", True),
        ("_ALL[-1]", "_ALL.append(w)", False),
        ("_ALL[-1]", "change(_ALL)", False),
        ("_ALL[-1]", "return len(_ALL)", True),
        # Which another module may fill.
        ("OPEN['at']", "return w", False),
        ("PLACES[0]", "return w", False),
    ],
)
def test_what_functions_put_into_a_modules(made_of: str, by: str, real: bool) -> None:
    text = (
        "import torch\n\n_KEPT = {'at': torch.ones(1).device}\n_ALL = [torch.ones(1).device]\n"
        f"PLACES = [torch.ones(1).device]\nOPEN = {{'at': torch.ones(1).device}}\n\n\ndef fill(w):\n    {by}\n\n\n"
        f"def f(x):\n    device = {made_of}\n{MAKES.format('device')}"
    )
    assert changed({"made.py": text}, "made.py") is not real


LIST = "devices = [x.device for x in more]\n"
DICT = "kept = {'at': found.detach().device}\n"


@pytest.mark.parametrize(
    ("body", "real"),
    [
        (LIST + "def add(w):\n    devices.append(w)\nadd(found)\ndevice = devices[0]", False),
        (LIST + "def add(devices):\n    devices.append(more)\ndevice = devices[0]", True),
        (LIST + "devices.__setitem__(0, found)\ndevice = devices[0]", False),
        (LIST + "list.append(devices, found)\ndevice = devices[0]", False),
        (LIST + "again = devices\nagain.append(found)\ndevice = devices[0]", False),
        (LIST + "again = devices\nn = len(again)\ndevice = devices[0]", True),
        (LIST + "change(devices)\ndevice = devices[0]", False),
        (LIST + "device = devices[0]\nchange(devices)", True),
        (LIST + "for x in more:\n    device = devices[0]\n    change(devices)", False),
        (LIST + "assert len(set(devices)) == 1\ndevice = devices[0]", True),
        (DICT + "for kept['at'] in more:\n    pass\ndevice = kept['at']", False),
        (DICT + "with found as kept['at']:\n    pass\ndevice = kept['at']", False),
        (DICT + "kept['at']: object = found\ndevice = kept['at']", False),
        (DICT + "kept['in'] = kept\nkept['in']['at'] = more\ndevice = kept['at']", False),
        ("kept = {'a': {'b': found.detach().device}}\ndevice = kept['a']['b']", True),
        (
            "kept = {'a': {'b': found.detach().device}}\nkept['a']['b'] = more\ndevice = kept['a']['b']",
            False,
        ),
        (DICT + "outer = {'a': kept}\nouter['a']['at'] = more\ndevice = kept['at']", False),
        ("more['at'] = found.detach().device\ndevice = more['at']", True),
        ("more['at'] = found.detach().device\nmore.load(found)\ndevice = more['at']", False),
        ("more['at'] = found.detach().device\nchange(more)\ndevice = more['at']", False),
        ("more['at'] = found.detach().device\nprint(more)\ndevice = more['at']", True),
        ("more.at = found.detach().device\nchange(more)\ndevice = more.at", False),
        ("more.at = found.detach().device\nprint(more)\ndevice = more.at", True),
        (
            "more['at'] = found.detach().device\nfor x in found:\n    device = more['at']\n    more.load(x)",
            False,
        ),
    ],
)
def test_who_else_may_fill_it(body: str, real: bool) -> None:
    assert changed({"made.py": function(body)}, "made.py") is not real


@pytest.mark.parametrize(
    ("said", "given", "real"),
    [
        ("torch.device", "device", True),
        ("str", "device", False),
        ("str", "state.device", True),
        ("str", "torch.device(device)", True),
        ("Optional[str]", "device", False),
    ],
)
def test_an_annotation_that_a_caller_contradicts(said: str, given: str, real: bool) -> None:
    text = (
        "from typing import Optional\n\nimport torch\n\n\nclass Agent:\n"
        f"    def __call__(self, state: torch.Tensor, device: {said}):\n        return self.get_action(state, {given})\n\n"
        "    def get_action(self, state: torch.Tensor, device: torch.device):\n"
        "        return torch.tensor(state, device=device)\n"
    )
    assert (
        "tdev.tensor" in rewrite(text, Names.load(), _options("agents.py", text)).code
    ) is not real


def _options(name: str, text: str) -> Options:
    seen = Survey(staying=False)
    seen.see(PurePath("/src/pkg", name), text.encode(), "pkg")
    return Options(tree=seen.tree())


@pytest.mark.parametrize(
    "body",
    [
        "while found:\n"
        + "".join(f"    a{i} = a{i + 1}[0]\n    a{i + 1} = a{i}\n" for i in range(40)),
        "while found:\n" + "".join(f"    a{i} = (a{i - 1}, a{i - 2})\n" for i in range(2, 60)),
        "".join(f"a{i} = a{i - 1} if found else a{i - 2}\n" for i in range(2, 200)),
    ],
)
def test_what_has_no_end_or_many_ways_is_given_up(body: str) -> None:
    text = function(f"a0 = a1 = found.device\n{body}device = a1[0]")
    start = time.process_time()
    changed({"made.py": text}, "made.py")
    assert time.process_time() - start < 5


GLOBAL = (
    "import torch\n\n_DEVICE = None\n\n\ndef choose(gpu, word):\n    global _DEVICE\n    _DEVICE = {set_to}\n\n\n"
    "def reset():\n    global _DEVICE\n    _DEVICE = {again}\n\n\ndef chosen():\n    return _DEVICE\n\n\n"
    "def scratch(n):\n    return torch.zeros(n, device=_DEVICE)\n"
)
HANDED_OUT = "import torch\nfrom .choice import chosen\n\n\ndef f():\n    return torch.ones(2, device=chosen())\n"
MADE_OF_A_WORD = 'torch.device(f"cuda:{gpu}")'


@pytest.mark.parametrize(
    ("set_to", "again", "real"),
    [
        (MADE_OF_A_WORD, "None", True),
        (MADE_OF_A_WORD, 'torch.device("cpu")', True),
        (MADE_OF_A_WORD, '"cuda"', False),
        ("word", "None", False),
    ],
)
def test_a_modules_variable_that_functions_set(set_to: str, again: str, real: bool) -> None:
    files = {"choice.py": GLOBAL.format(set_to=set_to, again=again), "asks.py": HANDED_OUT}
    assert changed(files, "asks.py") is not real
    survey = Survey(staying=False)
    code = rewrite(files["choice.py"], Names.load(), Options(tree=survey.tree()), filename="").code
    assert ("tdev.zeros" in code) is not real


def test_a_function_sees_what_others_set_of_its_module_beside_what_it_sets_itself() -> None:
    text = (
        'import torch\n\nDEVICE = "cuda"\n\n\ndef f(x: torch.Tensor):\n    global DEVICE\n'
        "    if DEVICE is None:\n        DEVICE = x.device\n    return torch.zeros(3, device=DEVICE)\n"
    )
    assert changed({"made.py": text}, "made.py")


@pytest.mark.parametrize(
    ("body", "real"),
    [
        ("if not isinstance(device, torch.device):\n    device = torch.device(device)", True),
        (
            "if isinstance(device, torch.device):\n    more = 1\nelse:\n    device = found.device",
            True,
        ),
        ("device = device if isinstance(device, torch.device) else torch.device(device)", True),
        ("if not isinstance(device, torch.device):\n    raise TypeError(device)", True),
        ("assert isinstance(device, torch.device)", True),
        ("if not isinstance(device, torch.device):\n    device = more", False),
        ("if not isinstance(device, torch.device):\n    more = torch.device(device)", False),
        ("if not isinstance(device, (torch.device, str)):\n    raise TypeError(device)", False),
        ("if isinstance(device, torch.device):\n    device = more\nelse:\n    return None", False),
        ("assert isinstance(device, torch.device)\ndevice = more", False),
    ],
)
def test_what_was_asked_whether_it_is_a_device(body: str, real: bool) -> None:
    made = function(body, parameters="found: torch.Tensor, more, device='cpu'")
    assert ("tdev.zeros" not in migrated({"made.py": made}).code) is real


AGENTS = """import torch


class AgentBase:
    def __init__(self, size, gpu_id=0, args=None):
        self.device = torch.device(f"cuda:{gpu_id}" if gpu_id >= 0 else "cpu")


class AgentPlain(AgentBase):
    def act(self):
        return 1


class AgentOfOthers:
    def __init__(self, size, device):
        self.device = device
"""
TRAINS = (
    "import torch\n\n\ndef f(args, found, more):\n    agent = args.agent_class(args.size{given})\n"
)


@pytest.mark.parametrize(
    ("given", "more", "real"),
    [
        (", gpu_id=args.gpu_id, args=args", "", True),
        (", gpu_id=args.gpu_id", "    agent.device = more\n", False),
        (", args.where", "", False),  # which AgentOfOthers may be made with
        (", device=args.device", "", False),
        (", **more", "", False),
        (", gpu_id=args.gpu_id", "    agent = more\n", False),
    ],
)
def test_an_object_of_a_class_that_is_kept(given: str, more: str, real: bool) -> None:
    files = {
        "agents.py": AGENTS,
        "trains.py": TRAINS.format(given=given) + more + MAKES.format("agent.device"),
    }
    assert changed(files, "trains.py") is not real


CHAIN = """    if {asks}:
        return {cuda}
    elif torch.backends.mps.is_available():
        return "mps"
    return "cpu"
"""
KEPT = """    if {asks}:
        where = {cuda}
    elif is_npu_available():
        where = "npu"
    else:
        where = "cpu"
    return where
"""
TERNARY = """    return {cuda} if {asks} else "xpu" if torch.xpu.is_available() else "cpu"
"""
BESIDE = CHAIN.replace("elif", "if")
OPTED = """    if {asks}:
        print("CUDA")
        return {cuda}
    if wanted:
        if torch.backends.mps.is_available():
            return "mps"
    return "cpu"
"""
ELSEWHERE = """    if {asks}:
        return {cuda}
    if wanted:
        if torch.backends.mps.is_available():
            print("MPS")
    return "cpu"
"""
ALONE = """    if {asks}:
        return {cuda}
    return "cpu"
"""
ASKS = "torch.cuda.is_available()"


@pytest.mark.parametrize(
    ("body", "asks", "cuda", "real"),
    [
        (CHAIN, ASKS, "'cuda'", True),
        (KEPT, ASKS, "'cuda:0'", True),
        (KEPT, "has_cuda", "'cuda'", True),
        (TERNARY, ASKS, "'cuda'", True),
        (BESIDE, ASKS, "'cuda'", True),
        (BESIDE, f"{ASKS} and torch.cuda.device_count() > 0", "'cuda'", True),
        (BESIDE, f"{ASKS} and wanted", "'cuda'", False),
        (OPTED, ASKS, "'cuda'", True),
        (ELSEWHERE, ASKS, "'cuda'", False),
        (ALONE, ASKS, "'cuda'", False),
        (CHAIN, "wanted", "'cuda'", False),
        (CHAIN, f"wanted or {ASKS}", "'cuda'", False),
        (CHAIN, "wanted == 'cuda'", "wanted", False),
        (CHAIN, ASKS, "'cuda' if wanted else 'gpu'", False),
    ],
)
def test_a_word_that_is_chosen_beside_other_accelerators(
    body: str, asks: str, cuda: str, real: bool
) -> None:
    """The question stays CUDA's, so that the function's answer is a device which is there."""
    head = "import torch\n\n\ndef get_device(wanted=None):\n"
    if asks == "has_cuda":
        head = head.replace("\n\n", f"\n\nhas_cuda = {ASKS}\n\n", 1)
    files = {
        "choose.py": head + body.format(asks=asks, cuda=cuda),
        "uses.py": "import torch\nfrom .choose import get_device\n\n\ndef f(n):\n    device = get_device()\n"
        + MAKES.format("device"),
    }
    assert changed(files, "uses.py") is not real
    if real:
        assert "tdev" not in migrated(files, "choose.py").code


BACKENDS = """import torch


class First:
    def jacobians(self, x) -> tuple[torch.Tensor, torch.Tensor]:
        raise NotImplementedError


class Second(First):
    def jacobians(self, x){said}:
        return {given}
"""
READS = """import torch


class Reads:
    def f(self, x, more):
        {read}
        return torch.zeros(3, device=jacobians.device)
"""


@pytest.mark.parametrize(
    ("said", "given", "read", "real"),
    [
        (
            " -> tuple[torch.Tensor, torch.Tensor]",
            "x",
            "jacobians, _ = self.backend.jacobians(x)",
            True,
        ),
        ("", "x.view(-1).cpu(), more", "jacobians, _ = self.backend.jacobians(x)", True),
        ("", "more, x.view(-1)", "jacobians, _ = self.backend.jacobians(x)", False),
        ("", "make(x)", "jacobians, _ = self.backend.jacobians(x)", False),
        (
            " -> tuple[torch.Tensor, torch.Tensor]",
            "x",
            "jacobians = self.backend.jacobians(x)",
            False,
        ),
        (
            " -> tuple[torch.Tensor, torch.Tensor]",
            "x",
            "jacobians, _ = self.backend.others(x)",
            False,
        ),
    ],
)
def test_one_of_what_all_methods_of_a_name_give(
    said: str, given: str, read: str, real: bool
) -> None:
    files = {
        "backends.py": BACKENDS.format(said=said, given=given),
        "reads.py": READS.format(read=read),
    }
    assert changed(files, "reads.py") is not real


def test_a_word_that_has_become_the_devices_name_is_no_word_any_more() -> None:
    text = (
        'import torch\nfrom elsewhere import Model\n\ndevice = "cuda" if torch.cuda.is_available() else "cpu"\n'
        'model = Model({})\nif device == "cuda":\n    model.half()\n'
    )
    handed = migrated({"made.py": text.format("device=device")}).code
    assert 'device = str(tdev.device("cuda"))' in handed and "tdev.is_accelerator(device)" in handed
    kept = migrated({"made.py": text.format("")}).code
    assert 'device = "cuda" if tdev' in kept and 'if device == "cuda":' in kept


LINEAR = (
    "import torch\n\n\nclass Packed(torch.nn.Module):\n    def __init__(self, bits, size, dev):\n        super().__init__()\n"
    '        self.register_buffer("weight", torch.zeros((size, bits), device=dev))\n\n    @classmethod\n'
    "    def from_linear(cls, linear: torch.nn.Linear, bits):\n"
    "        return cls(bits, linear.in_features, linear.weight.device)\n"
)
PACKS = (
    "import torch\nfrom .linear import Packed\n\n\ndef pack(module: torch.nn.Module, fast, word):\n"
)


@pytest.mark.parametrize(
    ("body", "real"),
    [
        ("return Packed(4, 4, next(iter(module.state_dict().values())).device)", True),
        ("return Packed(4, 4, module.state_dict()['weight'].device)", True),
        ("kind = Packed\n    return kind(4, 4, module.weight.device)", True),
        ("kind = Packed if fast else dict\n    return kind.from_linear(module.linear, 4)", True),
        ("kind = Packed\n    return kind(4, 4, word)", False),
        ("kind = Packed\n    return fast(kind)", False),
        ("kind = Packed\n    return [kind]", False),
    ],
)
def test_a_class_that_a_variable_holds(body: str, real: bool) -> None:
    files = {"linear.py": LINEAR, "packs.py": f"{PACKS}    {body}\n"}
    assert changed(files, "linear.py") is not real


CHOSEN = (
    "import os\nimport torch\n\nif os.environ.get('DEVICE') == 'cpu':\n    DEVICE = torch.device('cpu')\n"
    "else:\n    DEVICE = torch.device(f'cuda:{{os.environ.get(\"RANK\", 0)}}')\n{more}"
)
TAKEN = {
    "by its module": "import torch\nfrom . import env\n\n\ndef f(n):\n    return torch.zeros(n, device=env.DEVICE)\n",
    "by its name": "import torch\nfrom .env import DEVICE\n\n\ndef f(n):\n    return torch.zeros(n, device=DEVICE)\n",
}
SETS = "from . import env\n\n\ndef reset(word):\n    {0}\n"


@pytest.mark.parametrize("taken", TAKEN)
@pytest.mark.parametrize(
    ("beside", "real"),
    [
        ("", True),
        ("import paddle\n\nDEVICE = paddle.device.get_device()\n", True),
        ("import paddle\nimport torch\n\nDEVICE = paddle.device.get_device()\n", False),
        ("DEVICE = 'cuda'\n", False),
        (SETS.format("env.DEVICE = word"), False),
        (SETS.format("before = env.DEVICE\n    env.DEVICE = before"), True),
    ],
)
def test_a_constant_that_its_module_chooses(taken: str, beside: str, real: bool) -> None:
    files = {
        "env.py": CHOSEN.format(more=""),
        "other.py": beside,
        "made.py": TAKEN[taken],
    }
    assert changed(files, "made.py") is not real


def test_a_constant_that_a_function_sets_is_none() -> None:
    more = "\n\ndef choose(word):\n    global DEVICE\n    DEVICE = word\n"
    files = {"env.py": CHOSEN.format(more=more), "made.py": TAKEN["by its module"]}
    assert changed(files, "made.py")


CHAIN = (
    "import torch\n\n\nclass Chain:\n    def __init__(self, root, dtype=torch.float32, device={default}):\n"
    "        self.dtype = dtype\n        self.device = device\n\n\nclass SerialChain(Chain):\n    pass\n"
)
SOLVES = (
    "import torch\nfrom .chain import SerialChain\n\n\nclass Solver:\n    def __init__(self, chain: {said}):\n"
    "        self.dtype = chain.dtype\n        self.device = chain.device\n        self.free = torch.isfinite(chain.low).any()\n"
    "        self.done = torch.zeros(3, dtype=self.dtype, device=self.device)\n"
)


@pytest.mark.parametrize(
    ("said", "default", "real"),
    [
        ("SerialChain", '"cpu"', False),
        ("'SerialChain'", '"cpu"', False),
        ("torch.Tensor", '"cpu"', True),
    ],
)
def test_an_object_of_a_class_that_keeps_a_word(said: str, default: str, real: bool) -> None:
    files = {"chain.py": CHAIN.format(default=default), "solves.py": SOLVES.format(said=said)}
    assert changed(files, "solves.py") is not real


MADE_BY_NAME = (
    "import torch\nfrom .core import Env, register\n\n\n{keeps}class {name}(Env):\n"
    "    def __init__(self, name, device: {said}):\n        self.start = torch.zeros(3, device=device)\n"
)
MAKES_BY_NAME = (
    "KNOWN = {}\n\n\ndef register(cls):\n    KNOWN[cls.__name__] = cls\n    return cls\n\n\n"
    "class Env:\n    pass\n\n\ndef make(name, **kwargs):\n    return KNOWN[name](name, **kwargs)\n"
)


@pytest.mark.parametrize(
    ("keeps", "twin", "said", "real"),
    [
        ("@register\n", "@register\n", "str", False),
        ("@register\n", "@register\n", "torch.device", True),
        # Which is made by others, or nobody.
        ("", "@register\n", "str", True),
        ("@register\n", "", "str", True),
    ],
)
def test_a_class_that_is_registered_beside_one_that_takes_a_word(
    keeps: str, twin: str, said: str, real: bool
) -> None:
    files = {
        "core.py": MAKES_BY_NAME,
        "hills.py": MADE_BY_NAME.format(keeps=keeps, name="Hills", said="torch.device"),
        "roads.py": MADE_BY_NAME.format(keeps=twin, name="Roads", said=said),
    }
    assert changed(files, "hills.py") is not real


LAYER = (
    "import torch\nfrom torch import nn\n\n\nclass PackedLinear(nn.Module):\n    def __init__(self, n, device: str = 'cuda'):\n"
    "        super().__init__()\n        self.device = device\n"
)
ADAPTS = (
    "import torch\nfrom torch import nn\n{imports}\n\nclass Adapter(nn.Module):\n    def __init__(self, layer{said}):\n"
    "        super().__init__()\n        self.device = (\n            layer.device if {asks} else next(layer.parameters()).device\n        )\n"
    "        self.low = torch.zeros(3, device=self.device)\n"
)


@pytest.mark.parametrize(
    ("said", "asks", "imports", "real"),
    [
        (": nn.Module", 'hasattr(layer, "device")', "from .packed import PackedLinear\n", False),
        ("", 'hasattr(layer, "device")', "from .packed import PackedLinear\n", False),
        ("", "isinstance(layer, PackedLinear)", "from .packed import PackedLinear\n", False),
        ("", "type(layer) is packed.PackedLinear", "from . import packed\n", False),
        # Which nothing in the file says it to be.
        (": nn.Module", 'hasattr(layer, "device")', "", True),
        ("", "layer.bias", "from .packed import PackedLinear\n", True),
        (": torch.Tensor", 'hasattr(layer, "device")', "from .packed import PackedLinear\n", True),
    ],
)
def test_an_object_that_may_be_of_a_class_that_keeps_a_word(
    said: str, asks: str, imports: str, real: bool
) -> None:
    made = ADAPTS.format(said=said, asks=asks, imports=imports)
    assert changed({"packed.py": LAYER, "adapts.py": made}, "adapts.py") is not real


@pytest.mark.parametrize(
    ("name", "said", "real"),
    [("layer", ": PackedLayer", False), ("layer", "", False), ("plain", "", True)],
)
def test_an_object_that_is_called_after_a_class_that_keeps_a_word(
    name: str, said: str, real: bool
) -> None:
    keeps = "import torch\n\n\nclass PackedLayer:\n    def __init__(self, device):\n        self.device = device\n"
    text = (
        f"import torch\nfrom .packed import PackedLayer\n\n\ndef mask({name}{said}, n):\n"
        f"    return {name}.unsqueeze(0), torch.ones(n, device={name}.device)\n"
    )
    assert changed({"packed.py": keeps, "masks.py": text}, "masks.py") is not real


def test_a_word_of_another_object_that_a_class_is_made_with() -> None:
    result = (
        "class Result:\n    def __init__(self, n, device='cpu'):\n        self.device = device\n"
        "        self.found = torch.zeros(n, device=self.device)\n\n\n"
    )
    solver = SOLVES.format(said="SerialChain").replace("class Solver", f"{result}class Solver")
    solver += "\n    def solve(self, n):\n        return Result(n, device=self.device)\n"
    files = {"chain.py": CHAIN.format(default='"cpu"'), "solves.py": solver}
    assert "tdev.zeros(n" in migrated(files, "solves.py").code


def test_a_tensor_of_the_function_around() -> None:
    text = (
        "import torch\n\n\ndef around(config: torch.Tensor, std: float):\n    def sample(n):\n"
        "        return torch.randn(n, config.shape[0], dtype=config.dtype, device=config.device) * std\n\n    return sample\n"
    )
    assert not changed({"made.py": text}, "made.py")


@pytest.mark.parametrize(
    "base",
    [
        "from torch import device as torch_device\n\n\nclass Base:\n    @property\n"
        "    def device(self) -> torch_device:\n        return self.context.device\n\n"
        '    def cuda(self):\n        return self.to(torch_device("cuda", 0))\n',
        "import torch\n\n\nclass Base:\n    @property\n"
        "    def device(self) -> torch.device:\n        return self.context.device\n\n"
        '    def cuda(self):\n        return self.to(torch.device("cuda", 0))\n',
        "import torch\n\n\nclass Base:\n    def __init__(self, device: torch.device):\n        self.device = device\n\n"
        '    def cuda(self):\n        return self.to(torch.device("cuda", 0))\n',
    ],
)
def test_a_device_that_another_file_tells_of_is_real_in_a_second_run_too(base: str) -> None:
    tile = (
        "from torch import ones\nfrom .base import Base\n\n\nclass Tile(Base):\n    def scales(self):\n"
        "        return ones(3, device=self.device)\n\n    def load(self, x):\n        return x.cuda()\n"
    )
    files = {"base.py": base, "tile.py": tile}
    assert "tdev" in migrated(files, "base.py").code
    assert "from torch import ones" in migrated(files, "tile.py").code


REFUSES = """import torch


def choose():
    if torch.cuda.is_available():
        device = "cuda"
    elif torch.backends.mps.is_available():
        device = "mps"
    else:
        device = "cpu"
    return device


def checked(device=None):
    if device is None or device == "auto":
        device = choose()
    else:
        kind = device if isinstance(device, str) else device.type
        if {asks}:
{refuses}        elif kind == "mps":
            if not torch.backends.mps.is_available():
                raise RuntimeError("no MPS")
        elif kind == "cpu":
            pass
{ends}    return device


def load(path, device=None):
    device = checked(device)
    return torch.load(path, map_location=device), torch.zeros(3, device=device)
"""
REFUSAL = (
    "            if not torch.cuda.is_available():\n                raise RuntimeError('no CUDA')\n"
)
ENDS = "        else:\n            raise RuntimeError('a device is cuda, mps or cpu')\n"


@pytest.mark.parametrize(
    ("asks", "refuses", "ends", "real"),
    [
        ('kind == "cuda"', REFUSAL, ENDS, True),
        ('kind.startswith("cuda")', REFUSAL, "", True),
        # "cuda:0" comes by.
        ('kind == "cuda"', REFUSAL, "", False),
        ('kind == "cuda"', "            print(kind)\n", ENDS, False),
        ('other == "cuda"', REFUSAL, ENDS, False),
        # Where the question becomes tdev's, there is a CUDA on any machine.
        ('kind == "cuda" or kind.startswith("cuda:")', REFUSAL, "", False),
        ('"cuda" in kind', REFUSAL, "", False),
        ('kind in ("cuda", "gpu")', REFUSAL, ENDS, False),
        ('kind in ("cuda", "gpu")', REFUSAL, "", False),
        # Under a condition more, or the other way around.
        ('kind.startswith("cuda") and device != other', REFUSAL, "", False),
        ('kind.startswith("cuda") and device != other', REFUSAL, ENDS, False),
        ('isinstance(device, str) and kind.startswith("cuda")', REFUSAL, "", False),
        ('"cuda" not in kind', REFUSAL, "", False),
        ('kind != "cuda"', REFUSAL, ENDS, False),
        ('not kind.startswith("cuda")', REFUSAL, "", False),
        ('kind.startswith("cuda:")', REFUSAL, "", False),
        ('names[kind].startswith("cuda")', REFUSAL, "", False),
        # What comes first lets it by.
        (
            'device == other:\n            pass\n        elif kind.startswith("cuda")',
            REFUSAL,
            "",
            False,
        ),
        (
            'kind.startswith("cuda:"):\n            pass\n        elif kind == "cuda"',
            REFUSAL,
            ENDS,
            False,
        ),
        (
            'kind == "cpu":\n            pass\n        elif kind.startswith("cuda")',
            REFUSAL,
            "",
            True,
        ),
    ],
)
def test_a_word_that_was_refused_beside_other_accelerators(
    asks: str, refuses: str, ends: str, real: bool
) -> None:
    text = REFUSES.format(asks=asks, refuses=refuses, ends=ends)
    assert changed({"loads.py": text}, "loads.py") is not real


def test_a_word_that_is_refused_if_somebody_says_so() -> None:
    text = (
        "import torch\n\n\ndef make(device, strict=False):\n    if device.startswith('cuda') and strict:\n"
        "        if not torch.cuda.is_available():\n            raise ValueError\n    elif device.startswith('mps'):\n"
        "        print(device)\n    return torch.zeros(3, device=device)\n"
    )
    assert changed({"made.py": text}, "made.py")
    assert not changed({"made.py": text.replace(" and strict", "")}, "made.py")


def test_a_word_that_another_one_was_refused_for() -> None:
    text = (
        "import torch\n\n\ndef make(device, other):\n    kind = device.lower()\n    if kind.startswith('cuda'):\n"
        "        if not torch.cuda.is_available():\n            raise ValueError\n    elif kind.startswith('mps'):\n"
        "        print(device)\n    return torch.zeros(3, device=device)\n"
    )
    assert not changed({"made.py": text}, "made.py")
    for given in ("device.lower()\n    device = other\n", "other[device]\n", "device or other\n"):
        assert changed({"made.py": text.replace("device.lower()\n", given)}, "made.py")


@pytest.mark.parametrize(("keeps", "real"), [("", True), ("device", False)])
def test_a_class_of_the_tree_that_is_called_as_another_packages(keeps: str, real: bool) -> None:
    own = f"class SamPredictor:\n    def __init__(self, device):\n        self.device = {keeps}\n"
    text = (
        "import torch\nfrom .own import SamPredictor\n\n\ndef mask(asked: SamPredictor, n):\n"
        "    return torch.ones(n, device=asked.device)\n"
    )
    files = {"masks.py": text, "own.py": own if keeps else ""}
    assert changed(files, "masks.py") is not real


def test_two_classes_of_the_tree_that_are_called_as_another_packages() -> None:
    own = "class SamPredictor:\n    def __init__(self, device):\n        self.device = device\n"
    text = (
        "import torch\nfrom .own import SamPredictor\n\n\ndef mask(args, n):\n    sam = SamPredictor(args.device)\n"
        "    return torch.ones(n, device=sam.device)\n"
    )
    assert changed({"masks.py": text, "own.py": own, "more.py": own}, "masks.py")


FIELDS = (
    "from dataclasses import dataclass\nfrom typing import Literal, Optional, Union\nimport torch\n\n\n"
    "@dataclass\nclass RunParameters:\n    n: int\n    device: {said}\n"
)


@pytest.mark.parametrize(
    ("said", "real"),
    [
        ("str", False),
        ("Optional[str] = None", False),
        ("str | torch.device = 'cuda'", False),
        ("torch.device | str = 'cuda'", False),
        ("Union[torch.device, str, None] = None", False),
        ("Literal['cpu', 'cuda'] = 'cpu'", False),
        ("torch.device", True),
        ("Optional[torch.device] = None", True),
    ],
)
def test_a_field_of_another_file_that_may_be_a_word(said: str, real: bool) -> None:
    uses = (
        "import torch\nfrom .runs import RunParameters\n\n\ndef f(parameters: RunParameters):\n"
        "    return torch.zeros(parameters.n, device=parameters.device)\n"
    )
    files = {"runs.py": FIELDS.format(said=said), "uses.py": uses}
    assert changed(files, "uses.py") is not real


LOADS = (
    "import functools\nimport torch\n\n\nclass Loader:\n    def __init__(self, rows, x: torch.Tensor, word):\n"
    "        self.device = x.device\n        self.word = word\n{made}\n\n    @staticmethod\n    def _pack(rows, device=None):\n"
    "        return [torch.tensor(row, device=device) for row in rows]\n"
)


@pytest.mark.parametrize(
    ("made", "real"),
    [
        ("        self.rows = Rows(rows, functools.partial(self._pack, device=self.device))", True),
        (
            "        self.rows = Rows(rows, pack=functools.partial(self._pack, device=self.device))",
            True,
        ),
        (
            "        self.rows = Rows(rows, pack=functools.partial(self._pack, device=self.word))",
            False,
        ),
        ("        self.rows = Rows(rows, pack=functools.partial(self._pack))", False),
        ("        self.rows = Rows(rows, pack=functools.partial(self._pack, **word))", False),
        # Which may be called with another.
        ("        self.pack = functools.partial(self._pack, device=self.device)", False),
    ],
)
def test_a_function_of_which_a_part_is_given(made: str, real: bool) -> None:
    assert changed({"made.py": LOADS.format(made=made)}, "made.py") is not real


@pytest.mark.parametrize(
    ("run", "head", "real"),
    [
        ("Rows", "from otherlib import Rows\n", True),
        ("otherlib.rows.Rows", "import otherlib.rows\n", True),
        ("map", "", True),
        # Who may give the device anew.
        ("run", "def run(rows, f):\n    return f(rows, device='cuda')\n", False),
        ("run", "from .runs import run\n", False),
        ("run", "from .runs import *\n", False),
        ("runs.run", "from . import runs\n", False),
        ("self.run", "", False),
        ("word.run", "", False),
    ],
)
def test_who_is_given_a_part_of_a_function(run: str, head: str, real: bool) -> None:
    made = f"        self.rows = {run}(rows, functools.partial(self._pack, device=self.device))"
    files = {
        "made.py": head + LOADS.format(made=made),
        "runs.py": "def run(rows, f):\n    return f(rows, device='cuda')\n",
    }
    assert ("tdev.tensor(" in migrated(files).code) is not real


@pytest.mark.parametrize(
    ("call", "real"),
    [
        ("_mask(3, x.device, **more)", True),
        ("_mask(3, word, **more)", False),
        ("_mask(3, **more)", False),
        ("_mask(*more, x.device)", False),
    ],
)
def test_what_comes_before_arguments_that_are_not_seen(call: str, real: bool) -> None:
    text = (
        "import torch\n\n\ndef _mask(n, device):\n    return torch.zeros(n, device=device)\n\n\n"
        f"def f(x: torch.Tensor, word, more):\n    return _mask(2, x.device), {call}\n"
    )
    assert changed({"made.py": text}, "made.py") is not real


GIVES_BACK = "import torch\n\n\ndef default(value, other):\n    {body}\n\n\n"


@pytest.mark.parametrize(
    ("body", "call", "real"),
    [
        ("return value if value is not None else other", "default(x.device, x.device)", True),
        ("return value if value is not None else other", "default(None, other=x.device)", True),
        ("return value or other", "default(None, x.device)", True),
        ("return value if value is not None else other", "default(word, x.device)", False),
        ("return value if value is not None else other", "default(x.device, word)", False),
        ("return value if value is not None else other", "default(*word)", False),
        ("return value if value is not None else other", "default(x.device, **word)", False),
        ("return value or CHOSEN", "default(x.device, x.device)", False),
        ("value = CHOSEN\n    return value or other", "default(x.device, x.device)", False),
    ],
)
def test_what_a_function_gives_back(body: str, call: str, real: bool) -> None:
    text = GIVES_BACK.format(body=body) + (
        f"def f(x: torch.Tensor, word, n):\n    device = {call}\n    return torch.zeros(n, device=device)\n"
    )
    assert changed({"made.py": text}, "made.py") is not real


@pytest.mark.parametrize(
    ("padded", "real"),
    [
        ("def padded(rows, n) -> torch.Tensor:\n    return rows.to(n)\n", True),
        ("def padded(rows, n):\n    rows = torch.zeros(n)\n    return rows\n", True),
        ("def padded(rows, n):\n    return rows.of(n)\n", False),
        ("@cached\ndef padded(rows, n) -> torch.Tensor:\n    return rows.to(n)\n", False),
    ],
)
def test_a_tensor_that_another_files_function_gives(padded: str, real: bool) -> None:
    uses = (
        "import torch\nfrom .pads import padded\n\n\ndef f(rows, n):\n    series = padded(rows, n)\n"
        "    return torch.as_tensor(n, device=series.device)\n"
    )
    files = {"pads.py": f"import torch\n\n\n{padded}", "uses.py": uses}
    assert changed(files, "uses.py") is not real


@pytest.mark.parametrize(
    ("at", "chosen", "real"),
    [
        ("ids == each", "each", True),
        ("chosen", "ids == each", True),
        ("ids", "each", False),
        ("chosen", "ids.of(each)", False),
        ("'ids'", "each", False),
    ],
)
def test_what_is_chosen_from_by_a_comparison(at: str, chosen: str, real: bool) -> None:
    body = f"kept = torch.zeros(3, device=hazard.device)\nfor each in more:\n    chosen = {chosen}\n    kept[0] = hazard[{at}]"
    text = function(body, "'cpu'", "hazard, ids, more")
    assert changed({"made.py": text}, "made.py") is not real


@pytest.mark.parametrize(("word", "real"), [("'cpu'", True), ("'cuda'", False)])
def test_what_is_chosen_from_may_be_of_a_class_of_the_tree(word: str, real: bool) -> None:
    body = "kept = torch.zeros(3, device=hazard.device)\nkept[0] = hazard[ids == 1]"
    rows = (
        f"class Rows:\n    def __init__(self, where={word}):\n        self.device = {word}\n\n"
        "    def __getitem__(self, which):\n        return which\n"
    )
    files = {"made.py": function(body, "'cpu'", "hazard, ids"), "rows.py": rows}
    assert changed(files, "made.py") is not real


FILTERS = (
    "import torch\n\n\ndef low(n, device=None):\n    return torch.zeros(n, device=device)\n\n\n"
    "def low_of_two(n, device=None):\n    return torch.ones(n, device=device)\n"
)
RENAMES = "import torch\nfrom .filters import low_of_two as low\n\n\ndef f(x: torch.Tensor, word):\n    return low(3, device={})\n"


@pytest.mark.parametrize(
    ("given", "more", "kept"),
    [
        ("x.device", "", ["torch.ones", "tdev.zeros"]),
        ("word", "", ["tdev.ones", "tdev.zeros"]),
        # Who knows it by that name from there.
        (
            "x.device",
            "from .uses import low\n\n\ndef g(word):\n    return low(2, word)\n",
            ["tdev.ones"],
        ),
        (
            "x.device",
            "from .filters import low\n\n\ndef g(x: torch.Tensor):\n    return low(2, x.device)\n",
            ["torch.ones", "torch.zeros"],
        ),
        (
            "word",
            "from .filters import low\n\n\ndef g(x: torch.Tensor):\n    return low(2, x.device)\n",
            ["tdev.ones", "torch.zeros"],
        ),
    ],
)
def test_a_function_that_is_imported_by_anothers_name(
    given: str, more: str, kept: list[str]
) -> None:
    files = {
        "filters.py": FILTERS,
        "uses.py": RENAMES.format(given),
        "more.py": f"import torch\n{more}",
    }
    code = migrated(files, "filters.py").code
    assert all(each in code for each in kept)


def test_what_a_function_gives_that_is_imported_by_anothers_name() -> None:
    files = {
        "env.py": "import torch\n\n\ndef get_device(x: torch.Tensor):\n    return x.device\n\n\n"
        "def typed_device(cfg):\n    return cfg.device\n",
        "uses.py": "import torch\nfrom .env import typed_device as get_device\n\n\ndef f(cfg):\n"
        "    device = get_device(cfg)\n    return torch.zeros(3, device=device)\n",
    }
    assert changed(files, "uses.py")


RECORDING = (
    "import torch\n\n\nclass Recording:\n    def __init__(self, n, device: {said}):\n        self.n = n\n"
    "        self.device = device\n"
)
WHITENS = (
    "import torch\nfrom .files import Recording\n\n\ndef whiten(rows):\n    return torch.zeros((3, 3), device=rows.device)\n\n\n"
    "def run(n, device, other):\n    recording = Recording(n, device)\n    found = whiten({given})\n    del recording\n    return found\n"
)


@pytest.mark.parametrize(
    ("said", "given", "real"),
    [
        ("torch.device", "recording", True),
        ("torch.device", "rows=recording", True),
        ("torch.device", "Recording(n, device)", True),
        ("torch.device", "other", False),
        ("str", "recording", False),
        ("'torch.device | str'", "recording", False),
    ],
)
def test_an_object_of_a_class_of_the_tree_that_a_function_is_given(
    said: str, given: str, real: bool
) -> None:
    files = {
        "files.py": RECORDING.format(said=said),
        "whitens.py": WHITENS.format(given=given),
    }
    assert changed(files, "whitens.py") is not real


@pytest.mark.parametrize(
    ("build", "real"),
    [
        ("    model = PackedModel(spec)\n    return model\n", False),
        ("    return spec.kind(spec)\n", False),
        ("    params = read(spec)\n    return params\n", False),
        ("    rows = spec.kind(spec)\n    return torch.cat(rows)\n", True),
    ],
)
def test_an_object_that_another_files_function_gives(build: str, real: bool) -> None:
    packed = (
        "import torch\n\n\nclass PackedModel:\n    def __init__(self, spec):\n        self.device = spec.device\n\n\n"
        f"def build(spec):\n{build}"
    )
    uses = (
        "import torch\nfrom .packed import build\n\n\ndef f(spec):\n    engine = build(spec)\n"
        "    return torch.zeros(3, device=engine.device)\n"
    )
    assert changed({"packed.py": packed, "uses.py": uses}, "uses.py") is not real


PAINTERS = (
    "import torch\n\n\nclass Painter:\n    def __init__(self, device, **more):\n        self._start(device, **more)\n\n\n"
    "class Plain(Painter):\n    def _start(self, device, **more):\n        self.label = torch.zeros(3, device=device)\n"
)
MANAGES = (
    "import torch\nfrom .painters import Plain\n\nKINDS = {{'plain': Plain}}\n\n\nclass Manager:\n"
    "    def __init__(self, kind, device: torch.device, word, **more):\n{body}\n"
)


@pytest.mark.parametrize(
    ("body", "elsewhere", "real"),
    [
        ("        self.kind = KINDS[kind](device, **more)", "", True),
        ("        if kind in KINDS:\n            self.kind = KINDS[kind](device)", "", True),
        ("        KINDS[kind].is_there()\n        self.kind = KINDS[kind](device)", "", True),
        ("        self.kind = KINDS[kind](word, **more)", "", False),
        ("        self.kind = KINDS[kind](**more)", "", False),
        (
            "        made = KINDS[kind]\n        self.kind = KINDS[kind](device), made(word)",
            "",
            False,
        ),
        (
            "        self.all = [each(word) for each in KINDS.values()], KINDS[kind](device)",
            "",
            False,
        ),
        (
            "        self.kind = KINDS[kind](device)",
            "from .manages import KINDS\n\n\ndef g(word):\n    return KINDS['plain'](word)\n",
            False,
        ),
        (
            "        self.kind = KINDS[kind](device)",
            "from .manages import *\n\n\ndef g(word):\n    return KINDS['plain'](word)\n",
            False,
        ),
        (
            "        self.kind = KINDS[kind](device)",
            "from . import manages\n\n\ndef g(word):\n    return manages.KINDS['plain'](word)\n",
            False,
        ),
        (
            "        self.kind = KINDS[kind](device)",
            "from .painters import Plain\n\n\ndef g(word):\n    return Plain(word)\n",
            False,
        ),
        (
            "        self.kind = KINDS[kind](device)",
            "def g(word):\n    KINDS = {'plain': print}\n    return KINDS['plain'](word)\n",
            True,
        ),
    ],
)
def test_a_class_that_a_table_makes(body: str, elsewhere: str, real: bool) -> None:
    files = {
        "painters.py": PAINTERS,
        "manages.py": MANAGES.format(body=body),
        "else.py": elsewhere,
    }
    assert changed(files, "painters.py") is not real


@pytest.mark.parametrize(
    "imports",
    [
        "from .manages import (\n    Manager, KINDS,\n)\n",
        "from .manages import (  # (and more)\n    Manager,  # :)\n    KINDS)\n",
        "from .manages import Manager, \\\n    KINDS\n",
        "try:\n    from .manages import (Manager as M,\n        KINDS)\nexcept ImportError:\n    KINDS = {}\n",
        "import math; from .manages import Manager, KINDS\n",
    ],
)
def test_a_table_of_classes_that_is_imported_beside_others(imports: str) -> None:
    files = {
        "painters.py": PAINTERS,
        "manages.py": MANAGES.format(body="        self.kind = KINDS[kind](device)"),
        "else.py": f"{imports}\n\ndef g(word):\n    return KINDS['plain'](word)\n",
    }
    assert changed(files, "painters.py")


COMPARES = (
    "import torch\n\n\n{knows}class Former:\n    def fit(self, rows, device='cuda'):\n        device = torch.device(device)\n"
    "        if device == torch.device('cuda'):\n            self.model.cuda()\n        return {given}\n\n"
    "    def _build(self, half=None, device='cuda'):\n        device = torch.device(device)\n"
    "        return dict(fp16=(device == torch.device('cuda')), {built})\n"
)
KNOWS_MPS = "def there():\n    return torch.backends.mps.is_available()\n\n\n"
OWN = "self._build(device=device)"


@pytest.mark.parametrize(
    ("knows", "given", "built", "elsewhere", "real"),
    [
        (KNOWS_MPS, "rows", "on=1", "", True),
        (KNOWS_MPS, OWN, "on=1", "", True),
        (KNOWS_MPS, OWN, "on=torch.zeros(3, device=device)", "", False),
        (KNOWS_MPS, OWN, "on=device", "", False),
        (KNOWS_MPS, "build(device=device)", "on=1", "", False),
        (KNOWS_MPS, "self._build(device)", "on=1", "", False),
        (KNOWS_MPS, "device == rows.device", "on=1", "", False),
        (KNOWS_MPS, "torch.zeros(3, device=device)", "on=1", "", False),
        (KNOWS_MPS, "lambda: device", "on=1", "", False),
        # Which has another, of an heir.
        (
            KNOWS_MPS,
            OWN,
            "on=1",
            "from .made import Former\n\n\nclass Other(Former):\n    def _build(self, half=None, device='cuda'):\n        return self.cuda(device)\n",
            False,
        ),
        # Whose questions are not CUDA's.
        ("", "rows", "on=1", "", False),
    ],
)
def test_a_device_that_is_only_compared_with_cudas(
    knows: str, given: str, built: str, elsewhere: str, real: bool
) -> None:
    text = COMPARES.format(knows=knows, given=given, built=built)
    code = migrated({"made.py": text, "else.py": elsewhere}).code
    fit = code[code.index("def fit") : code.index("def _build")]
    assert ("= tdev.device(device)" in fit) is not real


@pytest.mark.parametrize(
    ("body", "real"),
    [
        ('    device = "cuda"\n', False),
        ("    device = WHERE\n", False),
        ('    """Runs it."""\n\n    name = "a"\n    device = "cuda"\n', False),
        ('    device = torch.device("cpu")\n', True),
        ("    device = None\n", True),
        # Which is a variable of a method.
        ('    def run(self):\n        device = "cuda"\n        return self.to(device)\n', True),
        (
            '    async def run(self):\n        device = "cuda"\n        return self.to(device)\n',
            True,
        ),
    ],
)
@pytest.mark.parametrize("by", ["an heir", "who has one"])
def test_a_device_that_a_class_of_another_file_has_for_all(body: str, real: bool, by: str) -> None:
    uses = {
        "an heir": "class Run(BaseRun):\n    def start(self):\n        return torch.zeros(3, device=self.device)\n",
        "who has one": "def start(batch: BaseRun):\n    return torch.zeros(3, device=batch.device)\n",
    }
    files = {
        "runs.py": f'import torch\n\nWHERE = "cuda"\n\n\nclass BaseRun:\n{body}',
        "uses.py": f"import torch\nfrom .runs import BaseRun\n\n\n{uses[by]}",
    }
    assert changed(files, "uses.py") is not real


TRIES = """import torch


def {name}(device{more}):
{early}    try:
        {makes}
    except RuntimeError as error:
        {handles}
"""
TRIED = {
    "name": "check_device",
    "more": "",
    "early": "",
    "makes": "torch.zeros(1, device=device)",
    "handles": "raise ValueError(f'no {device}') from error",
}
RESOLVES = """from .tries import check_device


def resolve_device(device) -> str:
    if device in (None, "cpu"):
        return "cpu"
    {checks}
    return device
"""
TAKES_RESOLVED = """import torch
from .resolves import resolve_device


def make(n, device: str):
    device = resolve_device(device)
    return torch.ones(n, device=device)
"""


def tree_of_checks(checks: str = "check_device(device)", **tried: str) -> dict[str, str]:
    return {
        "tries.py": TRIES.format(**{**TRIED, **tried}),
        "resolves.py": RESOLVES.format(checks=checks),
        "uses.py": TAKES_RESOLVED,
    }


@pytest.mark.parametrize(
    ("checks", "tried", "real"),
    [
        ("check_device(device)", {}, True),
        ("check_device(device=device)", {}, True),
        (
            "check_device(device)",
            {"early": "    if device.type == 'cpu' or device is None:\n        return\n"},
            True,
        ),
        ("try:\n        check_device(device)\n    except ValueError:\n        raise", {}, True),
        (
            "try:\n        check_device(device)\n    except ValueError:\n        device = 'cpu'",
            {},
            True,
        ),
        # What lets another by.
        ("check_device(device)", {"handles": "print(error)"}, False),
        ("check_device(device)", {"handles": "return"}, False),
        ("check_device(device)", {"handles": "device = 'cpu'"}, False),
        (
            "check_device(device)",
            {"early": "    if device == 'cuda':\n        return\n"},
            False,
        ),
        ("check_device(device)", {"early": "    if device == 0:\n        return\n"}, False),
        ("check_device(device)", {"early": "    device = torch.device('cpu')\n"}, False),
        ("check_device(device)", {"more": "=None, strict=False", "early": "    yield\n"}, False),
        ("check_device(device)", {"makes": "kept = torch.zeros(1, device=device)"}, False),
        ("check_device(device)", {"makes": "torch.zeros(1, device='cpu')"}, False),
        ("check_device(device)", {"makes": "torch.device(device)"}, False),
        ("check_device(device)", {"name": "other_device"}, False),
        ("check_device(other, device)", {"more": ", other=None"}, False),
        ("check_device(other)", {}, False),
        ("device == 'gpu' or check_device(device)", {}, False),
        ("if strict:\n        check_device(device)", {}, False),
        ("check_device(device)\n    device = other", {}, False),
        ("try:\n        check_device(device)\n    except ValueError:\n        pass", {}, False),
        ("try:\n        pass\n    except ValueError:\n        check_device(device)", {}, False),
        (
            "try:\n        check_device(device)\n    except ValueError:\n        device = 'cpu'\n        if other:\n            device = other",
            {},
            False,
        ),
    ],
)
def test_a_device_that_torch_was_tried_on(checks: str, tried: dict[str, str], real: bool) -> None:
    files = tree_of_checks(checks, **tried)
    assert changed(files, "uses.py") is not real


@pytest.mark.parametrize(
    ("imports", "checks", "real"),
    [
        ("from . import tries", "tries.check_device(device)", True),
        ("from pkg.tries import check_device as seen_device", "seen_device(device)", True),
        ("from .tries import (  # (or none)\n    check_device,\n)", "check_device(device)", True),
        # What another package, or nobody, says it does.
        ("from otherlib import check_device", "check_device(device)", False),
        ("from otherlib import see_device as check_device", "check_device(device)", False),
        ("from otherlib import check_device as seen_device", "seen_device(device)", False),
        ("from otherlib import *", "check_device(device)", False),
        ("import otherlib", "otherlib.check_device(device)", False),
        ("import otherlib.tries", "otherlib.tries.check_device(device)", False),
        ("from .tries import *", "more.check_device(device)", False),
        ("from .again import check_device", "check_device(device)", False),
        ("import torch", "check_device = print\n    check_device(device)", False),
        (
            "try:\n    from otherlib import check_device\nexcept ImportError:\n    from .tries import check_device",
            "check_device(device)",
            False,
        ),
    ],
)
def test_who_tries_a_device_is_of_the_tree(imports: str, checks: str, real: bool) -> None:
    files = tree_of_checks(checks)
    files["resolves.py"] = files["resolves.py"].replace(
        "from .tries import check_device", imports, 1
    )
    if ".again" in imports:
        files["again.py"] = "from otherlib import check_device\n"
    assert changed(files, "uses.py") is not real


@pytest.mark.parametrize(
    ("base", "method", "real"),
    [
        (
            "",
            "def _see_device(self, device):\n        try:\n            torch.zeros(1, device=device)\n"
            "        except RuntimeError as error:\n            raise ValueError from error",
            True,
        ),
        ("(Other)", "def more(self):\n        pass", False),
    ],
)
def test_a_method_that_tries_a_device_is_of_the_class(base: str, method: str, real: bool) -> None:
    called = "check_device" if base else "_see_device"
    text = (
        f"import torch\nfrom otherlib import Other\nfrom .tries import check_device\n\n\nclass Made{base}:\n    {method}\n\n"
        f"    def make(self, n, device: str):\n        self.{called}(device)\n        return torch.ones(n, device=device)\n"
    )
    assert changed({**tree_of_checks(), "made.py": text}, "made.py") is not real


def test_a_device_is_tried_by_torch_itself_and_that_is_told() -> None:
    result = migrated(tree_of_checks(), "tries.py")
    assert "tdev" not in result.code
    assert ["is tried on the device" in each.message for each in result.findings] == [True]


def test_two_functions_that_try_a_device_by_one_name() -> None:
    other = "def check_device(device):\n    print(device)\n"
    assert changed({**tree_of_checks(), "other.py": other}, "uses.py")
    assert changed({**tree_of_checks(), "other.py": "check_device = print\n"}, "uses.py")


def test_two_functions_that_call_each_other_try_nothing() -> None:
    text = "def check_device(device):\n    also_device(device)\n\n\ndef also_device(device):\n    check_device(device)\n    raise\n"
    assert changed({**tree_of_checks(), "tries.py": text}, "uses.py")


KEEPS = """from .resolves import resolve_device


class Base:
    def __init__(self, device: str):
        self.device = resolve_device(device)

    def to(self, device: str):
        {resolves}
        self.device = device
"""
HEIR = """import torch
from .keeps import Base


class Heir(Base):
    def make(self, n):
        return torch.ones(n, device=self.device)
"""
HANDED_ON = """import torch
from .keeps import Base


class Corrector:
    def __init__(self, base: Base):
        self.device = base.device

    def make(self, n):
        return torch.ones(n, device=self.device)
"""


@pytest.mark.parametrize(
    ("resolves", "real"), [("device = resolve_device(device)", True), ("print(device)", False)]
)
@pytest.mark.parametrize("text", [HEIR, HANDED_ON])
def test_a_device_that_was_tried_is_kept(resolves: str, real: bool, text: str) -> None:
    keeps = KEEPS.format(resolves=resolves)
    files = {**tree_of_checks(), "keeps.py": keeps, "heir.py": text}
    assert changed(files, "heir.py") is not real


@pytest.mark.parametrize(
    "other",
    [
        "def move(base, word):\n    base.device = word\n",
        'from .keeps import Base\n\n\ndef move(kept: Base):\n    kept.device = "cuda"\n',
    ],
)
def test_a_device_that_was_tried_is_replaced_from_outside(other: str) -> None:
    keeps = KEEPS.format(resolves="device = resolve_device(device)")
    files = {**tree_of_checks(), "keeps.py": keeps, "heir.py": HEIR, "other.py": other}
    assert changed(files, "heir.py")


@pytest.mark.parametrize("sets", ["self.device = device", "self.place = device"])
def test_a_real_device_that_a_base_class_elsewhere_replaces_by_a_word(sets: str) -> None:
    base = (
        "import torch\n\n\nclass PostHoc(torch.nn.Module):\n    def to(self, device):\n        super().to(device)\n"
        f"        {sets}\n        return self\n"
    )
    binned = (
        "import torch\nfrom .base import PostHoc\n\n\nclass Binned(PostHoc):\n    def __init__(self, model):\n"
        "        super().__init__()\n        self.device = next(model.parameters()).device\n\n"
        "    def forward(self, y):\n        return torch.tensor(y, device=self.device)\n"
    )
    trainer = (
        "import torch\n\n\ndef fit(model):\n    device = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        "    return model.to(device)\n"
    )
    files = {"base.py": base, "binned.py": binned, "trainer.py": trainer}
    assert changed(files, "binned.py") is ("self.device" in sets)


@pytest.mark.parametrize(
    ("gives_anew", "real"),
    [
        ("device = resolve_device(device)", True),
        ("if device is None:\n            device = resolve_device(device)", False),
        ("print(resolve_device(device))", False),
    ],
)
def test_a_device_that_was_tried_right_where_it_is_kept(gives_anew: str, real: bool) -> None:
    """Whatever the signature says that the parameter was before."""
    moved = (
        "import torch\nfrom .resolves import resolve_device\n\n\nclass Moved:\n    def to(self, device: str):\n"
        f"        {gives_anew}\n        self.device = device\n\n"
        "    def make(self, n):\n        return torch.ones(n, device=self.device)\n"
    )
    heir = (
        "import torch\nfrom .moved import Moved\n\n\nclass Heir(Moved):\n"
        "    def made(self, n):\n        return torch.ones(n, device=self.device)\n"
    )
    files = {**tree_of_checks(), "moved.py": moved, "heir.py": heir}
    assert changed(files, "heir.py") is not real


CODERS = """import torch


class Config:
    device: str = "cuda"


class Coder(torch.nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        self.device = {kept}


class Trained(Coder):
    pass


class FirstTrained(Trained):
    pass
"""


@pytest.mark.parametrize(
    ("said", "kept", "real"),
    [
        ("Coder[Config] | Trained[Config]", "torch.device(cfg.device)", True),
        ("Union[Coder[Config], 'Trained[Config]']", "torch.device(cfg.device)", True),
        ("Trained[Config, int]", "torch.device(cfg.device)", True),
        ("Coder[Config] | Trained[Config]", "cfg.device", False),
        ("Coder[Config] | Config", "torch.device(cfg.device)", False),
        ("Coder | Other[Config]", "torch.device(cfg.device)", False),
    ],
)
def test_an_object_of_several_classes_that_are_made_for_others(
    said: str, kept: str, real: bool
) -> None:
    """Each of them keeps a real device, by itself or by what it inherits; the class that one is made for says nothing."""
    files = {
        "coders.py": CODERS.format(kept=kept),
        "starts.py": "import torch\nfrom .coders import Coder, Config, Trained\n\n\n"
        f"def start(given: {said}, n):\n    return torch.zeros(n, device=given.device)\n",
    }
    assert changed(files, "starts.py") is not real


@pytest.mark.parametrize(
    ("default", "device", "kept", "real"),
    [
        ("Config('a')", "torch.device(self.word)", "config", True),
        ("Config('a')", "self.word", "config", False),
        ("load()", "torch.device(self.word)", "config", False),
        ("Config('a')", "torch.device(self.word)", "load()", False),
    ],
)
@pytest.mark.parametrize("call", ["torch.load(n, map_location={})", "torch.zeros(n, device={})"])
def test_a_device_that_a_property_of_settings_makes(
    default: str, device: str, kept: str, real: bool, call: str
) -> None:
    """Whatever they hold: who sets them sets the word."""
    files = {
        "config.py": "import torch\n\n\nclass Config:\n    def __init__(self, word):\n        self.word = word\n\n"
        f"    @property\n    def device(self):\n        return {device}\n",
        "trainer.py": "import torch\nfrom .config import Config\n\n\nclass Trainer:\n"
        "    def __init__(self, config: Config = None):\n        if config is None:\n"
        f"            config = {default}\n        self.configs = {kept}\n\n"
        f"    def start(self, n):\n        return {call.format('self.configs.device')}\n",
    }
    assert changed(files, "trainer.py") is not real


@pytest.mark.parametrize(
    ("device", "real"), [("torch.device(self.word)", True), ("'cuda:1'", False)]
)
def test_a_device_that_a_property_of_settings_and_of_their_heirs_makes(
    device: str, real: bool
) -> None:
    files = {
        "config.py": "import torch\n\n\nclass Config:\n    @property\n    def device(self):\n        return torch.device(self.word)\n",
        "more.py": "import torch\nfrom .config import Config\n\n\nclass More(Config):\n    @property\n"
        f"    def device(self):\n        return {device}\n",
        "uses.py": "import torch\nfrom .config import Config\n\n\ndef start(cfg: Config, n):\n"
        "    return torch.zeros(n, device=cfg.device)\n",
    }
    assert changed(files, "uses.py") is not real


@pytest.mark.parametrize(
    ("base", "real"),
    [
        ("SentenceTransformer", True),
        ("LightningModule", True),
        ("EnvBase", False),  # which makes one of whatever word it is given
        ("Env", False),
    ],
)
def test_an_object_whose_class_inherits_a_device_from_another_package(
    base: str, real: bool
) -> None:
    files = {
        "envs.py": f"import torch\nfrom other import {base}\n\n\nclass Shop({base}):\n    pass\n\n\nclass FlowShop(Shop):\n    pass\n",
        "tables.py": "import torch\nfrom .envs import FlowShop\n\n\nclass Tables:\n    def __init__(self, shop: FlowShop):\n"
        "        self.stages = torch.arange(shop.stages, device=shop.device)\n",
    }
    assert changed(files, "tables.py") is not real


KEEPS_A_DEVICE = (
    "class Low:\n    def __init__(self, low, device):\n        self.device = low.grad.device\n"
)
MAKE_NAMELESS = (
    "\nTurn = namedtuple('Turn', 'name device')\n",
    "\nTURN = SimpleNamespace(name=str(1), device='cuda:1')\n",
    "\nclass Turn:\n    def __init__(self, **given):\n        self.__dict__.update(given)\n\n\n"
    "def turn(of):\n    return Turn(name=str(1), device='cuda:1')\n",
)


@pytest.mark.parametrize(
    ("item", "more", "real"),
    [
        *(("turns[0]", more, False) for more in MAKE_NAMELESS),
        ("turns[0]", "\n@dataclass\nclass Turn:\n    device: str = 'cuda:1'\n", False),
        ("turns[0]", "", True),
        ("turns[0]", MAKE_NAMELESS[2].replace("Turn", "TurnConfig"), True),
        ("turns[0]", MAKE_NAMELESS[2].replace("device=", "at="), True),
        ("args[0]", MAKE_NAMELESS[0], True),
        ("turns['a']", MAKE_NAMELESS[0], True),
        ("inputs[0]", MAKE_NAMELESS[0], True),
        ("[x.abs() for x in inputs][0]", MAKE_NAMELESS[0], True),
        ("asked[0]", MAKE_NAMELESS[0], True),
    ],
)
def test_an_item_of_what_may_hold_words_for_devices(item: str, more: str, real: bool) -> None:
    files = {
        "kinds.py": f"from collections import namedtuple\nfrom types import SimpleNamespace\n{more}",
        "uses.py": "import torch\n\n\ndef g(turns, inputs, asked, n, *args):\n    print(asked[0].unsqueeze(1))\n"
        f"    return torch.zeros(n, device={item}.device)\n",
    }
    assert changed(files, "uses.py") is not real


@pytest.mark.parametrize(
    ("given", "more", "real"),
    [
        ("lows[0][0]", KEEPS_A_DEVICE, True),
        ("lows[-1]", KEEPS_A_DEVICE, True),
        ("args[0]", KEEPS_A_DEVICE, True),
        ("lows[at]", KEEPS_A_DEVICE, False),
        ("cfgs[0]", KEEPS_A_DEVICE, False),
        ("lows[0]['cfg']", KEEPS_A_DEVICE, False),
        ("lows[0]", "", False),
        *(("lows[0]", KEEPS_A_DEVICE + more, False) for more in MAKE_NAMELESS),
        ("lows[0]", KEEPS_A_DEVICE + "\nTURN = namedtuple('Turn', 'name devices')\n", True),
        ("lows[0]", KEEPS_A_DEVICE.replace("low.grad.device", "device"), False),
        ("lows[0]", KEEPS_A_DEVICE.replace("low.grad.device", "device = 'cuda'"), False),
    ],
)
def test_what_is_taken_out_by_a_number(given: str, more: str, real: bool) -> None:
    """A tensor, where classes of the tree keep a device and each of them a real one, and nothing else has one."""
    files = {
        "made.py": function("", parameters="device"),
        "uses.py": f"from .made import f\n{more}\n\ndef g(lows, cfgs, at, *args):\n    return f({given}.device)\n",
    }
    assert changed(files, "made.py") is not real


@pytest.mark.parametrize(
    ("layer", "real"),
    [
        ("nn.Linear(3, 3)", True),
        ("nn.Conv2d(3, 3, 1) if deep else nn.LayerNorm(3)", False),
        ("nn.LSTM(3, 3)", False),
        ("Chosen(3)", False),
    ],
)
def test_what_one_of_torchs_layers_gives(layer: str, real: bool) -> None:
    text = (
        f"import torch\nfrom torch import nn\n\n\nclass Mix(nn.Module):\n    def __init__(self, deep):\n        self.first = {layer}\n\n"
        "    def forward(self, nodes, n):\n        found = self.first(nodes)\n        return torch.zeros(n, device=found.device)\n"
    )
    assert changed({"mix.py": text}, "mix.py") is not real


@pytest.mark.parametrize(
    ("alias", "real"),
    [
        ("Pose: TypeAlias = Float[torch.Tensor, 'D D']", True),
        ("Pose = torch.Tensor", True),
        ("Pose = Union[torch.Tensor, None]", True),
        ("Pose = Union[torch.Tensor, str]", False),
        ("Pose: TypeAlias = Config", False),
        ("Pose = torch.Tensor\nPose = Config", False),
        ("class Pose:\n    def __init__(self, device):\n        self.device = device", False),
        ("def f(x):\n    Pose = torch.Tensor\n    return x", False),
        ("class Names:\n    Pose = torch.Tensor", False),
        ("if 1:\n    Pose = torch.Tensor", True),
    ],
)
def test_a_name_that_stands_for_tensors_in_annotations(alias: str, real: bool) -> None:
    files = {
        "types.py": "import torch\nfrom typing import TypeAlias, Union\nfrom jaxtyping import Float\n\n\n"
        f"class Config:\n    device: str = 'cuda'\n\n\n{alias}\n",
        "uses.py": "import torch\nfrom .types import Pose\n\n\ndef start(tf: Pose, n):\n    device = tf.device\n"
        "    return torch.zeros(n, device=device)\n",
    }
    assert changed(files, "uses.py") is not real


@pytest.mark.parametrize(
    ("keeps", "given", "real"),
    [
        ("more.grad.device", "Shares.stack([found, more])", True),
        ("more.grad.device", "Shares.stack([found, more]).joined()", False),
        ("more.grad.device", "shares.stack([found, more])", False),
        ("more", "Shares.stack([found, more])", False),
    ],
)
def test_what_a_function_of_a_class_makes(keeps: str, given: str, real: bool) -> None:
    files = {
        "shares.py": f"class Shares:\n    def __init__(self, more):\n        self.device = {keeps}\n\n"
        "    @staticmethod\n    def stack(parts):\n        return join(parts)\n",
        "uses.py": "import torch\nfrom .shares import Shares\n\n\ndef f(found, more, shares):\n"
        f"    found = {given}\n    return torch.zeros(3, device=found.device)\n",
    }
    assert changed(files, "uses.py") is not real


@pytest.mark.parametrize(
    ("asked", "given", "real"),
    [
        ("lows[at].shape", "lows[at]", True),
        ("lows[at[0]].shape[0]", "lows[at[0]]", True),
        ("lows[more].shape", "lows[at]", False),
        ("cfgs[at].shape", "cfgs[at]", False),
        ("lows[at].name", "lows[at]", False),
    ],
)
def test_an_item_that_is_asked_for_its_shape(asked: str, given: str, real: bool) -> None:
    files = {
        "made.py": function("", parameters="device"),
        "uses.py": "from .made import f\n\n\ndef g(lows, cfgs, at, more):\n"
        f"    n = {asked}\n    return n, f({given}.device)\n",
    }
    assert changed(files, "made.py") is not real


@pytest.mark.parametrize(
    ("prose", "real"),
    [
        ('"""What is tried.\n\n- grid_of\n"""\n', True),
        ("# coding: utf-8\n\n'''What is tried.\n\ngrid_of\n'''\n", True),
        ('NAMES = """\ngrid_of\n"""\n', False),
        ("- grid_of\n", False),
    ],
)
def test_what_a_docstring_says_of_a_function_is_no_use_of_it(prose: str, real: bool) -> None:
    files = {
        "grids.py": "import torch\n\n\ndef grid_of(n, device):\n    return torch.arange(n, device=device)\n",
        "uses.py": f"{prose}from .grids import grid_of\n\n\ndef f(x):\n    return grid_of(3, x.device)\n",
    }
    assert changed(files, "grids.py") is not real


@pytest.mark.parametrize(
    ("imported", "real"),
    [("import torch_xla.core.xla_model as xm", True), ("import other.model as xm", False)],
)
def test_a_device_of_xlas_imported_in_a_block(imported: str, real: bool) -> None:
    files = {
        "state.py": f"import torch\n\nif has_xla():\n    {imported}\n\n\nclass State:\n    def __init__(self, word):\n"
        "        self.device = torch.device(word)\n        if has_xla():\n            self.device = xm.xla_device()\n",
        "uses.py": "import torch\nfrom .state import State\n\n\ndef f(n):\n    state = State('cuda')\n"
        "    return torch.zeros(n, device=state.device)\n",
    }
    assert changed(files, "uses.py") is not real


KEEPS_IT = "    def __init__(self, device):\n        self.device = device\n"
STEPS = "\n    def reset(self):\n        pass\n\n    def step(self, action):\n        pass\n"


@pytest.mark.parametrize(
    "device", ["self._unwrapped.device", "torch.device(self._unwrapped.device)"]
)
@pytest.mark.parametrize(
    ("more", "real"),
    [
        (f"class Model:\n{KEEPS_IT}", True),
        ("class Model:\n    device: str = 'cuda'\n", True),
        (f"class CartEnv:\n{KEEPS_IT}", False),
        (f"class Cart(gym.Env):\n{KEEPS_IT}", False),
        (f"class Cart:\n{KEEPS_IT}{STEPS}", False),
        ("class CartEnv:\n    def __init__(self, x):\n        self.device = x.grad.device\n", True),
    ],
)
def test_an_environment_lives_where_it_says(device: str, more: str, real: bool) -> None:
    """It is another package's, where the tree has none that keeps a word for its device."""
    files = {
        "more.py": f"import gym\n\n\n{more}",
        "wrapper.py": "import torch\n\n\nclass Wrapper:\n    def __init__(self, env):\n        self._unwrapped = env\n\n"
        f"    def scratch(self, n):\n        device = {device}\n        return torch.zeros(n, device=device)\n",
    }
    assert changed(files, "wrapper.py") is not real


@pytest.mark.parametrize("kept", ["{'device': device, 'dtype': dtype}", "dict(device=device)"])
@pytest.mark.parametrize(
    ("given", "real"), [("", True), ("device=x.device", True), ("device=word", False)]
)
def test_what_a_dictionary_keeps_for_torch(kept: str, given: str, real: bool) -> None:
    text = (
        "import torch\n\n\ndef f(x, word):\n    class Plain:\n        def __init__(self, device=None, dtype=None):\n"
        f"            factory_kwargs = {kept}\n            self.weight = torch.empty(3, **factory_kwargs)\n\n"
        f"    return Plain({given})\n"
    )
    assert changed({"made.py": text}, "made.py") is not real


@pytest.mark.parametrize(
    ("imports", "said", "real"),
    [
        ("from .types import Pose", "Pose", True),
        ("from . import types", "types.Pose", True),
        ("from pkg.types import *", "Pose", True),
        ("from torch import Tensor as Pose", "Pose", True),
        ("from otherlib import Pose", "Pose", False),
        ("from otherlib import Placed as Pose", "Pose", False),
        ("from otherlib import *", "Pose", False),
        ("import otherlib", "otherlib.Pose", False),
        ("import otherlib.types as ot", "'ot.Pose'", False),
    ],
)
def test_a_name_for_tensors_is_that_of_another_package_elsewhere(
    imports: str, said: str, real: bool
) -> None:
    files = {
        "types.py": "import torch\n\nPose = torch.Tensor\n",
        "uses.py": f"import torch\n{imports}\n\n\ndef start(tf: {said}, n):\n    return torch.zeros(n, device=tf.device)\n",
    }
    assert changed(files, "uses.py") is not real


KEPT_AND_GIVEN = """import torch


class Drive:
    def __init__(self, place):
        self.device = torch.device(place)


class FastDrive(Drive):
    pass


def start(of: {said}, n):
    return torch.zeros(n, device=of.device)


def plan(of, other):
    {given}
    return start(of, 2)
"""


@pytest.mark.parametrize("said", ["Drive", "Drive | FastDrive", "FastDrive"])
@pytest.mark.parametrize(
    ("given", "real"),
    [
        ("pass", True),
        ("of.place = 'cuda'", True),
        ("other.device = 'cuda'", True),
        ("of.device = torch.device('cuda')", True),
        ("of.device = 'cuda'", False),
        ("kept = of.drive.device\n    of.drive.device = kept", True),
        ("kept = other or of.drive.device\n    of.drive.device = kept", False),
        ("other = Drive('cpu')\n    other.device = 'cuda'", False),
        ("drive = other\n    drive.device = 'cuda'", False),
        ("other = FastDrive('cpu')\n    other.device = 'cuda'", False),
    ],
)
def test_a_class_that_keeps_a_real_device_is_given_a_word_from_outside(
    given: str, real: bool, said: str
) -> None:
    """Whatever the object is called there, and whether it is annotated or made."""
    text = KEPT_AND_GIVEN.format(said=said, given=given)
    code = migrated({"drives.py": text}, "drives.py").code
    assert ("torch.zeros(n, device=of.device)" in code) is real


@pytest.mark.parametrize(
    ("twin", "real"),
    [
        ("@dataclass\nclass Rig:\n    device: str = 'cuda'\n", False),
        ("class Rig(NamedTuple):\n    device: str\n", False),
        ("class Rig:\n    device = 'cuda'\n", False),
        ("@dataclass\nclass Rig:\n    device: torch.device\n", True),
        ("@dataclass\nclass Rig:\n    name: str\n", True),
    ],
)
@pytest.mark.parametrize("called", ["rig", "config"])
def test_two_classes_of_one_name_of_which_one_keeps_a_real_device(
    twin: str, real: bool, called: str
) -> None:
    files = {
        "rigs.py": "import torch\n\n\nclass Rig:\n    def __init__(self, name):\n        self.name = name\n\n"
        "    @property\n    def device(self):\n        return torch.device(self.name)\n",
        "uses.py": "import torch\nfrom dataclasses import dataclass\nfrom typing import NamedTuple\n\n\n"
        f"{twin}\n\ndef start({called}: Rig, n):\n    return torch.zeros(n, device={called}.device)\n",
    }
    assert changed(files, "uses.py") is not real


@pytest.mark.parametrize(
    ("given", "real"),
    [
        ("alpha.dtype, alpha.device", True),
        ("dtype=turn.rotations().dtype, device=turn.rotations().device", True),
        ("alpha.dtype, turn.device", False),
        ("config.dtype, config.device", False),
    ],
)
def test_a_device_that_is_given_beside_the_type_of_the_same_object(given: str, real: bool) -> None:
    files = {
        "made.py": function("", parameters="dtype, device"),
        "uses.py": f"from .made import f\n\n\ndef g(alpha, turn, config):\n    return f({given})\n",
    }
    assert changed(files, "made.py") is not real


@pytest.mark.parametrize(
    ("kept", "real"),
    [
        ("self.places = f(self.to_v.weight.device)\n        print(self.places)", True),
        ("self.places = f\n        self.places(self.to_v.weight.device)", True),
        ("self.places = f\n        self.places(self.of)", False),
    ],
)
def test_an_attribute_that_keeps_what_a_function_gives_or_the_function(
    kept: str, real: bool
) -> None:
    """The uses of what it gives are no uses of the function."""
    files = {
        "made.py": function("", parameters="device"),
        "uses.py": f"from .made import f\n\n\nclass Mix:\n    def go(self, x):\n        {kept}\n",
    }
    assert changed(files, "made.py") is not real


@pytest.mark.parametrize(("file", "real"), [("tests/test_uses.py", True), ("uses_more.py", False)])
def test_a_test_that_hands_a_function_on(file: str, real: bool) -> None:
    """It wraps it, or puts something in its place: what the tree's own code hands on may be given anything."""
    files = {
        "made.py": function("", parameters="device"),
        "uses.py": "from .made import f\n\n\ndef g(found):\n    return f(found.detach().device)\n",
        file: "from unittest.mock import MagicMock\n\nimport pkg.made\n\n\n"
        "def test_calls():\n    seen = MagicMock(wraps=pkg.made.f)\n    assert seen\n",
    }
    assert changed(files, "made.py") is not real


@pytest.mark.parametrize(
    ("listed", "real"),
    [
        ("device : str, optional", True),
        ("device : str", True),
        ("device: str, optional", True),
        ('device: str (default: "cpu")', True),
        ("device: str. Where it runs.", True),
        ('"""\n    device: str = "cuda"\n    """', False),
        ('"""\n    device : str | None = None\n    """', False),
        ('"""\n    device: Union[str, torch.device]\n    """', False),
    ],
)
def test_a_parameter_that_a_docstring_lists_is_no_field(listed: str, real: bool) -> None:
    """Whatever its indent: what a class keeps is told by its statements."""
    files = {
        "base.py": f'import torch\n\n\nclass Base:\n    """Runs.\n\n    {listed}\n    """\n\n'
        "    def __init__(self, device='cuda'):\n        self.device = torch.device(device)\n",
        "heir.py": "import torch\n\nfrom .base import Base\n\n\nclass Heir(Base):\n    def go(self, n):\n"
        "        return torch.zeros(n, device=self.device)\n",
    }
    assert changed(files, "heir.py") is not real


@pytest.mark.parametrize(
    ("otherwise", "real"), [("torch.device('cpu')", True), ("None", False), ("place", False)]
)
def test_where_a_file_is_loaded_to_if_both_arms_give_it(otherwise: str, real: bool) -> None:
    """``None``, which the parameter would have been, loads to where the tensors were saved."""
    text = (
        "import torch\n\n\ndef f(path, place=None, to=None):\n    if torch.cuda.is_available():\n"
        f"        to = torch.device('cuda')\n    else:\n        to = {otherwise}\n"
        "    return torch.load(path, map_location=to)\n"
    )
    assert ("torch.load(" in migrated({"load.py": text}, "load.py").code) is real


SPACE = """import torch


class Space:
    def origin(self, n, device=None):
        \"\"\"Return the origin.

        Args:
            device (torch.device): where it lies.
        \"\"\"
        raise NotImplementedError

    def random(self, n, device=None):
        raise NotImplementedError
"""


@pytest.mark.parametrize(
    ("uses", "real"),
    [
        ("def draw(space, n, device=None):\n    return space.random(n, device=device)\n", True),
        ("DRAWS = 'random'\n", True),
        ("def draw(space, n, device='cuda'):\n    return space.random(n, device=device)\n", False),
        ("def draw(space, n, args):\n    return space.random(n, device=args.device)\n", False),
    ],
)
def test_what_a_base_class_says_of_the_methods_beside_it(uses: str, real: bool) -> None:
    """What a class documents of one method holds for the next, and for the classes that inherit from it."""
    files = {
        "space.py": SPACE,
        "made.py": "import torch\nfrom .space import Space\n\n\nclass Line(Space):\n"
        "    def random(self, n, device=None):\n        return torch.randn(n, device=device)\n",
        "uses.py": uses,
    }
    assert changed(files, "made.py") is not real


GRAPHS = (
    "import dgl\nimport torch\n\n"
    "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n\n\n"
    "def encode(graph):\n    return graph.to(device)\n"
)
CHOOSES = (
    "\n\nclass Model:\n    def __init__(self):\n"
    "        self.device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"
)


@pytest.mark.parametrize(
    ("taken", "stays"),
    [
        ("from .encoders import *", True),
        ("from pkg.encoders import device, encode", True),
        ("from .encoders import encode", False),
        ("from .other import *", False),
    ],
)
def test_a_device_beside_one_that_is_taken_from_where_it_stays(taken: str, stays: bool) -> None:
    """DGL's goes to CUDA or to the CPU, and what a module chooses itself beside it would be another one."""
    files = {"encoders.py": GRAPHS, "made.py": f"import torch\n{taken}\n{CHOOSES}"}
    assert changed(files, "made.py") is not stays


def test_the_device_of_what_tdev_makes_is_real_in_a_second_run_too() -> None:
    made = migrated(
        {
            "made.py": """import torch


def build(jit, device=None):
    device = torch.empty(0, device=device).device
    return Net().to(device=device), device.type == "cuda"


def benchmark(jit, device=None):
    device = torch.empty(0, device=device).device
    return build(jit, device)


for device in ("cpu", "cuda"):
    benchmark(False, device)
"""
        }
    )
    assert "tdev.empty(0, device=device)" in made.code


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ('"cuda"', True),
        ('device="cuda" if torch.cuda.is_available() else "cpu"', True),
        ("args.device", True),
        ('torch.device("cuda")', False),
        ("torch.device(args.device)", False),
        ("x.device", False),
    ],
)
def test_who_gives_a_word_where_a_device_is_promised(given: str, word: bool) -> None:
    files = {
        "made.py": "import torch\n\n\ndef make(n, device: torch.device):\n    return torch.zeros(n, device=device)\n",
        "use.py": f"import torch\nfrom pkg.made import make\n\n\ndef use(args, x):\n    return make(3, {given})\n",
    }
    assert ("tdev.zeros" in migrated(files, "made.py").code) is word


@pytest.mark.parametrize(
    ("given", "word"), [('"cuda"', True), ('torch.device("cuda")', False), ("x.device", False)]
)
@pytest.mark.parametrize("through", ["device", "device=device"])
def test_a_word_is_handed_on_where_a_device_is_promised(
    given: str, word: bool, through: str
) -> None:
    """Through functions in other files, and a constructor, each of which promises a device."""
    files = {
        "made.py": "import torch\n\n\ndef make(n, device: torch.device):\n    return torch.zeros(n, device=device)\n",
        "between.py": "import torch\nfrom pkg.made import make\n\n\nclass Net:\n"
        f"    def __init__(self, n, device: torch.device):\n        self.x = make(n, {through})\n",
        "net.py": "import torch\nfrom pkg.between import Net\n\n\ndef build(device: torch.device):\n"
        f"    return Net(3, {through})\n",
        "use.py": f"import torch\nfrom pkg.net import build\n\n\ndef use(args, x):\n    return build({given})\n",
        # A file that says nothing of devices is looked at, too.
        "plain.py": "from pkg.made import make\n\n\ndef go(x):\n    return make(3, x)\n",
    }
    assert ("tdev.zeros" in migrated(files, "made.py").code) is word
