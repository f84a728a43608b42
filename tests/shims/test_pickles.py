"""Plain pickles and files of one backend, opened under each of them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.programs import run

WRITERS = ["sim", *(["mlx"] if find_spec("mlx") else [])]

_VALUES = """
    import pickle, sys
    from pathlib import Path
    import tdev as torch
    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    layer = torch.nn.Linear(3, 2, bias=False).cuda()
    with torch.no_grad():
        layer.weight.fill_(2)
    VALUES = {
        "tensor": x, "transposed": x.t(), "views": [x, x[0]], "parameter": torch.nn.Parameter(x.clone()),
        "leaf": x.clone().requires_grad_(), "module": layer, "state": layer.state_dict(), "int": x.long(),
        "half": x.half(), "bfloat16": x.bfloat16(), "bool": x > 2, "empty": x[:0], "device": x.device,
        "checkpoint": {"device": x.device, "weight": layer.weight}, "cpu": x.cpu(), "class": torch.device,
    }
    folder = Path(sys.argv[1])
"""
_WRITE = """
    for name, value in VALUES.items():
        for protocol in (2, 5):
            Path(folder, f"{name}.{protocol}.pkl").write_bytes(pickle.dumps(value, protocol))
        torch.save(value, Path(folder, f"{name}.pt"))
"""
_READ = """
    def same(found, mine):
        if isinstance(mine, torch.Tensor):
            assert found.device == mine.device and found.dtype is mine.dtype and type(found) is type(mine)
            assert found.requires_grad == mine.requires_grad and found.stride() == mine.stride()
            return torch.equal(found, mine)
        if isinstance(mine, (dict, list)):
            keys = mine if isinstance(mine, dict) else range(len(mine))
            return len(found) == len(mine) and all(same(found[key], mine[key]) for key in keys)
        if isinstance(mine, torch.nn.Module):
            return same(found.weight, mine.weight)
        return found is mine if isinstance(mine, type) else found == mine

    count = 0
    for path in sorted(folder.iterdir()):
        mine = VALUES[path.name.partition(".")[0]]
        if path.suffix == ".pkl":
            found = [pickle.loads(path.read_bytes())]
        else:
            found = [torch.load(path, weights_only=False)]
            if not isinstance(mine, torch.nn.Module):
                found.append(torch.load(path, weights_only=True))
        for value in found:
            assert same(value, mine), (path.name, value, mine)
        count += 1
    views = torch.load(folder / "views.pt")  # a plain pickle has each tensor's storage apart, in torch too
    views[0].zero_()
    print(count, views[1].tolist())
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of pickles for each device that tdev makes."""
    folders = {}
    for backend in WRITERS:
        folders[backend] = tmp_path_factory.mktemp(backend)
        run(_VALUES + _WRITE, str(folders[backend]), TDEV_BACKEND=backend)
    return folders


@pytest.mark.parametrize("reader", ["cpu", *WRITERS])
@pytest.mark.parametrize("writer", WRITERS)
def test_a_pickle_opens_where_a_saved_file_does(
    writer: str, reader: str, written: dict[str, Path]
) -> None:
    printed = run(_VALUES + _READ, str(written[writer]), TDEV_BACKEND=reader)
    assert printed == "48 [0.0, 0.0, 0.0]"  # 16 values, three ways; views share their storage still


def test_a_storage_of_cuda_is_torchs_to_refuse() -> None:
    code = """
        import io, torch, tdev
        file = io.BytesIO()
        torch.save(torch.ones(2), file, _use_new_zipfile_serialization=False)  # as a pickle holds a storage
        tagged = file.getvalue().replace(b"X\\x03\\0\\0\\0cpu", b"X\\x06\\0\\0\\0cuda:0")
        try:
            torch.storage._load_from_bytes(tagged)
        except RuntimeError as error:
            print("CUDA" in str(error), tdev.cuda.is_available())
    """
    assert run(code, TDEV_BACKEND="sim") == "True True"


def test_a_device_in_a_file_keeps_its_index_or_its_lack_of_one() -> None:
    code = """
        import copy, pickle, torch, tdev
        tdev.cuda.set_device(1)
        for given in (torch.device("sim"), torch.device("sim", 1), torch.device("cpu"), torch.device("cuda", 3)):
            assert pickle.loads(pickle.dumps(given)) == copy.deepcopy(given) == given, given
    """
    run(code, TDEV_BACKEND="sim", TDEV_SIM_DEVICES="2")
