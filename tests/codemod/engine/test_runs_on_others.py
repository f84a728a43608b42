"""A package that runs on accelerators which tdev does not know keeps the devices that it is given; words of CUDA's are changed."""

from __future__ import annotations

import pytest

from tests.codemod.small_trees import migrated

MADE = """import torch


def steps(n, device):
    return torch.arange(n, device=device)


def place(x, index):
    return x.to(0), torch.device(index)


def fixed(n):
    return torch.zeros(n, device="cuda")
"""
WAITS = """import torch


def wait(kind):
    if kind == "xpu":
        torch.xpu.synchronize()
    elif kind == "npu":
        torch.npu.synchronize()
    else:
        torch.cuda.synchronize()
"""


@pytest.mark.parametrize(("modules", "known"), [(2, False), (1, True), (0, True)])
def test_a_device_of_unknown_origin(modules: int, known: bool) -> None:
    files = {f"waits_{number}.py": WAITS for number in range(modules)}
    result = migrated({"made.py": MADE, **files})
    assert ("tdev.arange(n, device=device)" in result.code) is known
    assert ("tdev.device(index)" in result.code) is known
    assert 'tdev.zeros(n, device="cuda")' in result.code
    said = [finding.message for finding in result.findings]
    left = sum("tdev does not know" in each for each in said)
    assert left == (0 if known else 2), said


def test_what_was_typed_is_no_such_device() -> None:
    typed = MADE.replace("steps(n, device)", "steps(n, args)").replace("=device", "=args.device")
    result = migrated({"made.py": typed, "waits.py": WAITS, "wakes.py": WAITS})
    assert "tdev.arange(n, device=args.device)" in result.code


def test_a_number_needs_no_shims_there() -> None:
    moves = "import torch\n\n\ndef place(x):\n    return x.to(0)\n"
    assert migrated({"made.py": moves, "waits.py": WAITS, "wakes.py": WAITS}).code == moves
    assert "import tdev" in migrated({"made.py": moves}).code


@pytest.mark.parametrize(
    "given", ["torch.cuda.current_device()", "torch.cuda.current_device() if ranks else 0"]
)
@pytest.mark.parametrize("kept", [False, True])
def test_who_is_told_a_number_of_cudas_goes_with_it(given: str, kept: bool) -> None:
    line = f"    place = {given}\n    return torch.empty(n, device=place)\n"
    if not kept:
        line = f"    return torch.empty(n, device={given})\n"
    files = {"made.py": f"import torch\n\n\ndef made(n, ranks):\n{line}"}
    code = migrated({**files, "waits.py": WAITS, "wakes.py": WAITS}).code
    assert "tdev.empty(n, device=" in code and "tdev.cuda.current_device()" in code


@pytest.mark.parametrize("held", [True, False])
def test_what_is_taken_of_a_module_with_its_device(held: bool) -> None:
    """Models of a module lie where that has chosen for DGL; who runs them chooses no other device."""
    chooses = (
        'import torch\n\ndevice = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
    )
    graphs = "\n\nclass Graphs:\n    def __init__(self):\n        from dgl.nn import GraphConv\n"
    runs = (
        f"from pkg.layers import *\n{chooses}\n\ndef run(net, x):\n    return net.to(device)(x)\n"
    )
    files = {"layers.py": chooses + (graphs if held else ""), "run.py": runs}
    assert ("tdev" in migrated(files, "run.py").code) is not held


def test_what_a_class_moves_that_trains_on_cuda_and_the_cpu_alone() -> None:
    """The trainer makes double weights where its device is, which is none of MPS's: nor is the model that it is given."""
    choice = 'torch.device("cuda" if torch.cuda.is_available() else "cpu")'
    trainer = (
        "import torch\nfrom torch.utils.data import WeightedRandomSampler\n\n\nclass Trainer:\n"
        f"    def __init__(self, model, rows):\n        self.device = {choice}\n"
        "        odds = torch.tensor(rows.odds, device=self.device)\n"
        "        self.sampler = WeightedRandomSampler(odds, 3)\n"
    )
    model = (
        "import torch\nfrom pkg.trainer import Trainer\n\n\nclass Fit:\n    def prepare(self):\n"
        "        if torch.cuda.is_available():\n            self.net.cuda()\n\n"
        "    def train(self, rows):\n        return Trainer(self.net, rows)\n\n\n"
        f"class Other:\n    def prepare(self):\n        self.device = {choice}\n"
    )
    files = {"trainer.py": trainer, "model.py": model}
    code = migrated(files, "model.py").code
    assert "if torch.cuda.is_available():" in code and "self.device = tdev.device(" in code


@pytest.mark.parametrize("models", [3, 4])
def test_a_tree_that_is_written_for_what_knows_few_devices(models: int) -> None:
    """Where one module of six takes graphs from DGL, a device is chosen for those, whichever module chooses it."""
    train = (
        "import torch\nfrom pkg.data import graphs\nfrom pkg.models.m0 import M0\n\n\ndef train():\n"
        '    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
        "    model = M0().to(device)\n    return [model(each.to(device)) for each in graphs()]\n"
    )
    files = {"train.py": train}
    for number in range(models):
        files[f"models/m{number}.py"] = (
            "import torch\n\ntry:\n    import dgl\nexcept ImportError:\n    dgl = None\n\n\n"
            f"class M{number}(torch.nn.Module):\n    def forward(self, g):\n        return dgl.sum_nodes(g)\n"
        )
    assert (migrated(files, "train.py").code == train) == (models > 3)


def test_a_package_of_the_trees_own_is_no_library_of_that_name() -> None:
    train = (
        "import torch\n\n\ndef place(net):\n"
        '    return net.to(torch.device("cuda" if torch.cuda.is_available() else "cpu"))\n'
    )
    files = {"warp/__init__.py": "", "warp/grid.py": "import torch\n", "train.py": train}
    for number in range(4):
        files[f"m{number}.py"] = "import torch\nfrom warp.grid import grid\n"
    assert "tdev.cuda.is_available()" in migrated(files, "train.py").code


@pytest.mark.parametrize("tried", [True, False])
def test_a_file_without_torch_of_a_tree_that_may_run_without(tried: bool) -> None:
    """What imports neither torch nor tdev goes on doing so, where a module beside it only tries to."""
    augment = (
        "class Augmenter:\n    def __init__(self, device='cpu'):\n        self.device = device\n\n"
        "    def run(self, rows):\n        return self.device == 'cuda' or len(rows)\n\n"
        "    def ask(self, device, x):\n        return device.startswith('cuda') or x.is_cuda\n"
    )
    model = "import torch\n"
    if tried:
        model = "try:\n    import torch\nexcept ImportError:\n    pass\n"
    files = {
        "augment.py": augment,
        "model.py": f"{model}\n\ndef make():\n    return torch.zeros(3, device='cuda')\n",
    }
    assert (migrated(files, "augment.py").code == augment) is tried


def test_what_others_leave_is_a_device_that_is_there() -> None:
    code = (
        "import torch\n\n\ndef chosen():\n    if torch.backends.mps.is_available():\n        name = 'mps'\n"
        "    else:\n        name = 'cuda' if torch.cuda.is_available() else 'cpu'\n    return torch.device(name)\n"
    )
    assert migrated({"made.py": code}).code == code
