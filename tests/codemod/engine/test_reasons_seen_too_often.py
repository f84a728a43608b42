"""Reasons to leave something that were seen where there is none: by a pattern, by a name or by the place alone."""

from __future__ import annotations

import pytest

from tests.codemod.small_trees import migrated


@pytest.mark.parametrize(
    "line",
    [
        "self.use_cuda_graphs = False",
        "self.use_cuda_graphs = False  ",
        "self.cuda_graph = False  # self.cuda_graph = True",
        "cuda_graph_cuda_graph = False",
    ],
)
def test_many_switches_of_graphs_are_read_once(line: str) -> None:
    """A pattern that can divide each of these lines in several ways would not come to an end."""
    lines = f"        {line}\n" * 200
    text = (
        f"import torch\n\n\nclass Run:\n    def __init__(self):\n        self.on = torch.cuda.is_available()\n"
        f"        if not torch.cuda.is_available():\n{lines.replace('        ', '            ')}"
    )
    assert "not torch.cuda.is_available()" in migrated({"made.py": text}).code
    more = f"{text}            print(torch.zeros(3))\n"
    assert "not tdev.cuda.is_available()" in migrated({"made.py": more}).code


@pytest.mark.parametrize(
    ("bound", "stays"),
    [
        ("pass", True),
        ("match told:\n        case str() as device:\n            pass", False),
        ("match told:\n        case [_, *device]:\n            pass", False),
        ("match told:\n        case {**device}:\n            pass", False),
        ("match told:\n        case device:\n            pass", False),
        ("import device", False),
        ("from pkg.other import word as device", False),
        ("try:\n        told()\n    except OSError as device:\n        pass", False),
        ("def device():\n        pass", False),
        ("for device in told:\n        pass", False),
        ("with told as device:\n        pass", False),
        ("device += told", False),
        ("print(device := told)", False),
    ],
)
def test_a_device_that_is_bound_in_another_way_is_not_what_torch_says(
    bound: str, stays: bool
) -> None:
    chooser = (
        "import torch\n\n\ndef best_device():\n    if torch.cuda.is_available():\n        return 'cuda'\n"
        "    if torch.backends.mps.is_available():\n        return 'mps'\n    return 'cpu'\n\n\n"
    )
    body = f"    device = best_device()\n    {bound}\n    return torch.load(path, map_location=device)\n"
    code = migrated({"made.py": f"{chooser}def read(path, told):\n{body}"}).code
    assert ("torch.load(path" in code) is stays
    parameter = (
        f"def _read(path, told, device):\n{body.replace('device = best_device()', 'told(path)')}"
    )
    calls = (
        "\n\ndef main(told):\n    device = best_device()\n    return _read('a.pt', told, device)\n"
    )
    code = migrated({"made.py": f"{chooser}{parameter}{calls}"}).code
    assert ("torch.load(path" in code) is stays


_PUTS = {
    "if": 'if hasattr(torch, "xpu") and torch.xpu.is_available():\n        torch.cuda.synchronize = torch.xpu.synchronize',
    "try": "try:\n        torch.cuda.synchronize = torch.xpu.synchronize\n    except AttributeError:\n        pass",
    "statement": "torch.cuda.synchronize = torch.xpu.synchronize",
    "if with more": (
        "if not torch.cuda.is_available():\n        torch.cuda.synchronize = torch.xpu.synchronize\n        print('a')\n"
        "        print('b')\n        y = torch.ones(3, device='cuda')"
    ),
}


@pytest.mark.parametrize("puts", _PUTS)
def test_a_program_that_puts_something_in_cudas_place_first(puts: str) -> None:
    body = f"    {_PUTS[puts]}\n"
    rest = "    x = torch.zeros(3, device='cuda')\n    print(x)\n    print(x + 1)\n    torch.cuda.empty_cache()\n"
    made = migrated({"made.py": f"import torch\n\n\ndef main():\n{body}{rest}"})
    assert "tdev.zeros(3, device='cuda')" in made.code and "tdev.cuda.empty_cache()" in made.code
    assert "torch.cuda.synchronize = torch.xpu.synchronize" in made.code
    assert "if not tdev" not in made.code and "torch.ones(" not in made.code
    assert sum("in the place of CUDA's" in each.message for each in made.findings) == 1


def test_a_function_that_mostly_puts_something_in_cudas_place() -> None:
    text = (
        'import torch\n\n\ndef replace():\n    """Replace them."""\n    if torch.xpu.is_available():\n'
        "        torch.cuda.synchronize = torch.xpu.synchronize\n        torch.cuda.Stream = torch.xpu.Stream\n"
        "    torch.cuda.memory_allocated = lambda: 0\n    print('replaced')\n    return torch.cuda.current_device()\n"
    )
    assert "tdev" not in migrated({"made.py": text}).code


@pytest.mark.parametrize(
    ("calls", "stays"),
    [
        ("getattr(self, 'name')()", True),
        ("getattr(self, 'name', None)", True),
        ("getattr(self.net, name)()", True),
        ('getattr(self, f"_Base__{name}")()', False),
        ('getattr(self, "_Base__" + name)()', False),
        ("getattr(self, PREFIX + name)()", False),
        ("getattr(\n            self,\n            name,\n        )()", False),
        ("getattr(cls, name)()", False),
        ('METHODS["_Base__%s" % name](self)', False),
    ],
)
@pytest.mark.parametrize("base", ["Base", "_Base"])
def test_a_private_method_whose_name_is_made_at_run_time(
    calls: str, stays: bool, base: str
) -> None:
    text = (
        f"import torch\n\n\nclass {base}:\n    def __read(self, path):\n        return torch.load(path)\n\n"
        f"    def run(self, name, cls):\n        return {calls}\n"
    )
    assert ("torch.load(" in migrated({"made.py": text}).code) is stays


_ENCODERS = "from encoders import embed\nfrom sentence_transformers import SentenceTransformer\n"
_PROCESSED = {
    "a function of another file": ("", "self.put(embed('text'))", False),
    "a function of another file that is handed on": ("", "self.put(list(map(embed, [])))", False),
    "a model of a package": ("", "self.put(SentenceTransformer('m').encode([], True))", False),
    "a model in a variable": ("", "m = SentenceTransformer('m')\n        self.put(m.encode([]))", False),
    "a model that is kept": ("self.m = SentenceTransformer('m')", "self.put(self.m.encode([]))", False),
    "a model that is given": ("self.m = encoder", "self.put(self.m.encode([]))", False),
    "a model that is given and called": ("self.m = encoder", "self.put(self.m([]))", False),
    "a model in a variable of the file": ("", "self.put(MODEL.encode([]))", False),
    "a model of a class of the file": ("", "self.put(Heir('m').encode([]))", False),
    "a model in a table": ("", "self.put([m.encode('a') for m in {1: MODEL}.values()])", False),
    "a model by its name": ("", "self.put(globals()['MODEL'].encode([]))", False),
    "a model in a pattern": ("", "match MODEL:\n            case m:\n                self.put(m.encode([]))", False),
    "NumPy": ("", "self.put(np.zeros(3).repeat(2))", True),
    "pandas": ("self.f = pd.read_csv(path)", "self.put([r.x for r in self.f.iloc[0].transform()])", True),
    "json": ("", "self.put([each['a'].strip() for each in json.load(open('x'))])", True),
    "PyTorch Geometric": ("", "self.put(Data(x=torch.zeros(3)).coalesce())", True),
    "a text that is given": ("self.n = encoder", "self.put(self.n.split(',')[0])", True),
    "a function of the file": ("", "self.put(own('text'))", True),
    "a class of the file": ("", "self.put(Rows('text').all())", True),
    "a function in it": ("", "def inner(x):\n            return x + 1\n        self.put(inner(1))", True),
    "a path": ("", "self.put([p.stem for p in Path(self.raw_dir).glob('*')])", True),
    "a bar of progress": ("", "for at, row in enumerate(tqdm(range(3))):\n            self.put(row.bit_length())", True),
}  # fmt: skip


@pytest.mark.parametrize("name", _PROCESSED)
@pytest.mark.parametrize("silent", [True, False])
def test_what_a_data_set_processes_by_code_that_is_not_seen(name: str, silent: bool) -> None:
    starts, puts, stays = _PROCESSED[name]
    text = (
        f"import json\nfrom pathlib import Path\n\nimport numpy as np\nimport pandas as pd\nimport torch\n{_ENCODERS}"
        "from torch_geometric.data import Data, InMemoryDataset\nfrom tqdm import tqdm\n\n"
        "MODEL = SentenceTransformer('m')\n\n\nclass Heir(SentenceTransformer):\n    pass\n\n\n"
        "class Rows:\n    def __init__(self, text):\n        self.text = text\n\n    def all(self):\n        return [self.text]\n\n\n"
        "def own(text):\n    return torch.tensor([ord(each) for each in text.strip()])\n\n\n"
        "class Texts(InMemoryDataset):\n    def __init__(self, path, encoder):\n"
        f"        {starts or 'pass'}\n        super().__init__(path)\n        self.data = torch.load(self.processed_paths[0])\n\n"
        f"    def put(self, x):\n        self.rows.append(Data(x=x))\n\n    def process(self):\n        {puts}\n"
        "        torch.save(self.collate(self.rows), self.processed_paths[0])\n"
    )
    if not silent:
        text += "\n\ndef main():\n    print(torch.zeros(3, device='cuda'))\n"
    assert ("= torch.load(self" in migrated({"made.py": text}).code) is stays
