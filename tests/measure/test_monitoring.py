"""What a monitor sees of a program that trains; that it leaves nothing behind; and what a report makes of it."""

from __future__ import annotations

import gc
import json
import re
import sys
import types
import weakref
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import torch

from tdev_core import errors
from tdev_core.errors import UnsupportedError
from tdev_core.measure import monitoring
from tdev_core.measure.monitoring import PHASES, Monitor
from tdev_core.metrics import journal
from tests import forkserver


def python(code: str, **settings: str) -> Any:
    done = forkserver.python("-c", code, env=forkserver.environment(**settings))
    assert done.returncode == 0, done.stderr
    return done


def train(steps: int = 3) -> None:
    model = torch.nn.Linear(4, 4)
    first, second = (torch.optim.SGD(model.parameters(), 0.1) for _ in range(2))
    for _ in range(steps):
        first.zero_grad()
        model(torch.ones(2, 4)).sum().backward()
        first.step()
        second.step()


def test_steps_are_those_of_the_first_optimizer() -> None:
    with Monitor() as monitor:
        train(3)
    found = monitor.summary()
    assert found.steps == 3 and len(found.timeline) == 3
    assert all(found.seconds[phase] > 0 for phase in PHASES)
    assert "3 steps were watched" in str(found)


def test_a_program_that_trains_anew_goes_on_being_watched_and_keeps_nothing_for_it() -> None:
    with Monitor() as monitor:
        for _ in range(3):  # the folds of a validation
            train(4)
    assert monitor.summary().steps == 12
    optimizer = torch.optim.SGD([torch.zeros(2, requires_grad=True)], 0.1)
    gone = weakref.ref(optimizer)
    with Monitor():
        optimizer.step()
        del optimizer
        gc.collect()
        assert gone() is None, "nobody trains with it any more, and its parameters take memory"


def test_a_monitor_leaves_nothing_behind() -> None:
    def state() -> list[Any]:
        return [dict(vars(torch.Tensor)), list(errors._listeners), list(journal._watchers)]

    before = state()
    with Monitor() as monitor:
        assert state() != before and monitoring.running() is monitor
        with pytest.raises(RuntimeError, match="watches this process already"):
            monitor.start()
        train(1)
    assert state() == before and monitoring.running() is None
    train(1)
    assert monitor.summary().steps == 1, "nothing is seen any more"


@pytest.mark.parametrize("ends", ["in turn", "crosswise"])
def test_monitors_watch_beside_each_other_and_leave_in_any_order(ends: str) -> None:
    before = dict(vars(torch.Tensor)), list(journal._watchers)
    first, second = Monitor(), Monitor()
    first.start()
    train(2)
    second.start()
    assert monitoring.running() is first
    with journal.span("fallback", "aten::svd"):
        train(3)
    one, other = (second, first) if ends == "in turn" else (first, second)
    one.stop()
    assert monitoring.running() is other
    train(1)
    other.stop()
    train(1)
    assert (dict(vars(torch.Tensor)), journal._watchers) == before and monitoring.running() is None
    assert [first.summary().steps, second.summary().steps] == {
        "in turn": [6, 3], "crosswise": [5, 4]
    }[ends]  # fmt: skip
    for monitor in (first, second):
        assert monitor.summary().fallbacks["aten::svd"].count == 1


def test_a_program_that_watches_itself_can_be_reported_on(tmp_path: Path) -> None:
    code = """
import torch, tdev
net = torch.nn.Linear(4, 1).cuda()
optimizer = torch.optim.SGD(net.parameters(), 1e-2)
with tdev.monitoring.Monitor() as monitor:
    for _ in range(3):
        net(torch.ones(2, 4).cuda()).sum().backward()
        optimizer.step()
assert monitor.summary().steps == 3
assert sum(one.count for one in monitor.summary().copies.values()) == 3
"""
    python(code, TDEV_BACKEND="sim", TDEV_REPORT="json", TDEV_REPORT_DIR=str(tmp_path))
    (path,) = tmp_path.glob("*.json")
    watched = json.loads(path.read_text(encoding="utf-8"))["watched"]
    assert watched["steps"] == 3
    assert sum(one["count"] for one in watched["copies"].values()) == 5, "two parameters before"


def test_errors_are_events_with_their_number_and_line() -> None:
    with pytest.raises(UnsupportedError), Monitor() as monitor:
        raise UnsupportedError("no such thing", "TDEV101")
    (found,) = monitor.summary().errors
    assert (found["kind"], found["code"], found["message"]) == (
        "UnsupportedError",
        "TDEV101",
        "no such thing",
    )
    assert found["site"].startswith(__file__) and found["count"] == 1
    assert "python -m tdev explain TDEV101" in str(monitor.summary())
    with pytest.raises(KeyError), Monitor() as monitor:
        {}["gone"]
    (found,) = monitor.summary().errors
    assert found["kind"] == "KeyError" and found["site"].startswith(__file__)


def test_a_trace_of_torchs_profiler_has_the_phases(tmp_path: Path) -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        with Monitor() as monitor, monitor.span("fallback", "aten::svd"):
            train(2)
    path = tmp_path / "trace.json"
    profile.export_chrome_trace(str(path))
    names = {one.get("name") for one in json.loads(path.read_text())["traceEvents"]}
    assert {"tdev::forward", "tdev::backward", "tdev::step", "tdev::fallback aten::svd"} <= names


PROGRAM = """
import tdev as torch
model = torch.nn.Linear(64, 4).cuda()
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
for step in range(5):
    x = torch.randn(8, 64).to("cuda")
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    last = loss.item()
x.cpu()
try:
    torch.cuda.current_blas_handle()
except NotImplementedError:
    pass
"""


@pytest.mark.parametrize("backend", ["sim", "mlx"])
def test_what_moves_and_waits_has_its_line_and_its_bytes(backend: str, tmp_path: Path) -> None:
    if backend == "mlx":
        pytest.importorskip("mlx", reason="MLX is not installed; where it is, this runs")
    script = tmp_path / "train.py"
    script.write_text(PROGRAM)
    env = forkserver.environment(
        TDEV_REPORT="json", TDEV_REPORT_DIR=str(tmp_path), TDEV_BACKEND=backend
    )
    done = forkserver.python(str(script), env=env)
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("*.json")
    found = json.loads(path.read_text())
    assert found["version"] == 1 and found["calls"]["torch.Tensor.to"] == 5
    seen = found["watched"]
    assert seen["steps"] == 5 and set(seen["memory"]) == set(PHASES)
    assert seen["memory"]["step"] >= 64 * 4 * 4
    assert seen["waits"][f"{script}:11 item"]["count"] == 5
    assert seen["copies"][f"{script}:6 to the device"] == {
        "count": 5, "steps": 5, "bytes": 5 * 8 * 64 * 4, "seconds": seen["copies"][f"{script}:6 to the device"]["seconds"],
    }  # fmt: skip
    assert seen["copies"][f"{script}:12 to the host"]["bytes"] == 8 * 64 * 4
    assert all(step["to_device"] == 8 * 64 * 4 for step in seen["timeline"][1:])
    assert [error["code"] for error in seen["errors"]] == ["TDEV101"]


COPIES = """
import torch
host, device = torch.ones(8, 32), torch.zeros(8, 32, device="cuda")
host.cuda()
host.to("cuda")
host.to(device)
host.type("torch.cuda.FloatTensor")
device.copy_(host)
device.cpu()
device.to("cpu")
host.copy_(device)
torch.nn.Linear(32, 8, bias=False).cuda()
torch.nn.Linear(32, 8, bias=False).to("cuda")
"""


def test_every_way_to_copy_is_seen_whatever_answers_it(tmp_path: Path) -> None:
    script = tmp_path / "copies.py"
    script.write_text(COPIES)
    env = forkserver.environment(
        TDEV_REPORT="json", TDEV_REPORT_DIR=str(tmp_path), TDEV_BACKEND="sim"
    )
    done = forkserver.python("-m", "tdev", "run", str(script), env=env)
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("*.json")
    copies = json.loads(path.read_text())["watched"]["copies"]
    ways = dict(enumerate(COPIES.splitlines(), 1))
    seen = {
        int(where.split()[0].rpartition(":")[2]): (where.rpartition(" ")[2], spent["bytes"])
        for where, spent in copies.items()
    }
    for line in range(4, len(ways) + 1):
        towards = "host" if line in (9, 10, 11) else "device"
        assert seen.get(line) == (towards, 1024), (ways[line], seen)


def test_time_of_fallbacks_is_seen_on_mlx(tmp_path: Path) -> None:
    pytest.importorskip("mlx", reason="MLX is not installed; where it is, this runs")
    code = "import tdev as torch\ntorch.linalg.svdvals(torch.ones(3, 3, device='cuda'))\nprint(torch.report())"
    out = python(code, TDEV_REPORT="1", TDEV_BACKEND="mlx").stdout
    assert re.search(
        r"fell back to the CPU:\n\s+\S+:\d+ aten::_linalg_svd\S*\s+1\s+\d+\.\d{3} s", out
    ), out


class Reader(HTMLParser):
    """Reads a page: what it asks for from elsewhere, and whether all that is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.asked: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.asked += [
            f"{name}={value}" for name, value in attrs if name in ("src", "href", "xlink:href")
        ]
        if tag in ("script", "link", "img", "iframe"):
            self.asked.append(tag)
        if tag not in ("meta", "rect", "polyline"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("meta", "rect", "polyline"):
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_page_is_one_file_that_asks_for_nothing(tmp_path: Path) -> None:
    code = PROGRAM.replace(
        "torch.cuda.current_blas_handle()",
        'raise torch.UnsupportedError("<script>alert(1)</script>")',
    )
    done = python(code, TDEV_REPORT="html", TDEV_REPORT_DIR=str(tmp_path), TDEV_BACKEND="sim")
    (path,) = tmp_path.glob("*.html")
    assert str(path) in done.stderr
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    assert reader.asked == [] and reader.open == []
    assert "<script>alert(1)</script>" in reader.text, "as text, and nothing else"
    for head in (
        "Timeline",
        "Memory over steps",
        "Waited for the device",
        "Copies",
        "Errors and warnings",
        "Calls",
    ):
        assert head in reader.text
    assert path.read_text(encoding="utf-8").count("<rect") == 5 * len(PHASES)
    drawn, _, rest = path.read_text(encoding="utf-8").partition("<svg")
    assert all(f"■</span> {phase}" in drawn for phase in PHASES), (
        "above the drawing, which covers nothing of it"
    )
    assert "<text" not in rest


def test_an_empty_report_is_a_page_too(tmp_path: Path) -> None:
    python("import tdev", TDEV_REPORT="html", TDEV_REPORT_DIR=str(tmp_path), TDEV_BACKEND="cpu")
    (path,) = tmp_path.glob("*.html")
    assert "No routed function was called." in path.read_text(encoding="utf-8")


def test_callbacks_are_of_frameworks_that_there_are() -> None:
    with pytest.raises(ValueError, match="'keras': no such framework"):
        monitoring.callback("keras")


@pytest.mark.parametrize(
    ("framework", "module", "base", "begins", "ends"),
    [
        ("lightning", "lightning.pytorch", "Callback", "on_fit_start", "on_fit_end"),
        ("lightning", "lightning.pytorch", "Callback", "on_fit_start", "on_exception"),
        ("transformers", "transformers", "TrainerCallback", "on_train_begin", "on_train_end"),
    ],
)
def test_a_callback_watches_from_where_a_trainer_begins_to_where_it_ends(
    framework: str,
    module: str,
    base: str,
    begins: str,
    ends: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a trainer that only calls what the frameworks call; the frameworks' own are below."""
    double = types.ModuleType(module)
    setattr(double, base, type(base, (), {}))
    monkeypatch.setitem(sys.modules, module.partition(".")[0], types.ModuleType("lightning"))
    monkeypatch.setitem(sys.modules, module, double)
    found = monitoring.callback(framework)
    assert isinstance(found, getattr(double, base))
    for _ in range(2):  # a trainer that is used again goes on with the same
        getattr(found, begins)(object(), object(), state=None)
        assert monitoring.running() is found.monitor
        train(3)
        told = {"exception": KeyError("label")} if ends == "on_exception" else {"state": None}
        getattr(found, ends)(object(), object(), **told)
        assert monitoring.running() is None
    assert found.monitor.summary().steps == 6


def test_a_trainer_that_has_raised_stops_being_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, base in (
        ("lightning.pytorch", "Callback"), ("transformers", "TrainerCallback"),
    ):  # fmt: skip
        double = types.ModuleType(module)
        setattr(double, base, type(base, (), {}))
        monkeypatch.setitem(sys.modules, module, double)
    monkeypatch.setitem(sys.modules, "lightning", types.ModuleType("lightning"))
    first, second = monitoring.callback("transformers"), monitoring.callback("transformers")
    first.on_train_begin(object(), object(), object())  # after which the trainer has raised
    second.on_train_begin(object(), object(), object())
    assert monitoring.running() is second.monitor
    second.on_train_end(object(), object(), object())
    assert monitoring.running() is None
    other = monitoring.callback("lightning")
    other.on_fit_start(object(), object())
    try:
        raise KeyError("label")
    except KeyError as error:
        other.on_exception(object(), object(), error)
    (found,) = other.monitor.summary().errors
    assert found["kind"] == "KeyError" and found["site"].startswith(__file__)
    assert monitoring.running() is None


def test_lightnings_own_trainer_calls_the_callback() -> None:
    reason = "lightning is not installed; where it is, this runs"
    lightning: Any = pytest.importorskip("lightning.pytorch", reason=reason)

    class Model(lightning.LightningModule):  # type: ignore[misc]  # of what is imported above
        def __init__(self) -> None:
            super().__init__()
            self.net = torch.nn.Linear(4, 1)

        def training_step(self, batch: torch.Tensor, _: int) -> torch.Tensor:
            return self.net(batch).square().mean()  # type: ignore[no-any-return]

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), 1e-2)

    found = monitoring.callback("lightning")
    quiet = dict.fromkeys(
        ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False
    )
    trainer = lightning.Trainer(max_epochs=2, callbacks=[found], accelerator="cpu", **quiet)
    trainer.fit(Model(), torch.utils.data.DataLoader(torch.ones(8, 4), batch_size=2))
    assert found.monitor.summary().steps == 8 and monitoring.running() is None


def test_transformers_own_trainer_calls_the_callback(tmp_path: Path) -> None:
    reason = "transformers and accelerate are not installed; where they are, this runs"
    pytest.importorskip("accelerate", reason=reason)
    transformers: Any = pytest.importorskip("transformers", reason=reason)

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = torch.nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"loss": self.net(x).square().mean()}

    found = monitoring.callback("transformers")
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path), max_steps=5, report_to=[], save_strategy="no", use_cpu=True,
    )  # fmt: skip
    data = [{"x": torch.ones(4)} for _ in range(64)]
    transformers.Trainer(
        model=Model(), args=arguments, train_dataset=data, callbacks=[found]
    ).train()
    assert found.monitor.summary().steps == 5 and monitoring.running() is None


def test_compiling_is_timed() -> None:
    code = """
import torch, tdev
from tdev_core.measure.monitoring import Monitor
monitor = Monitor()
for _ in range(2):
    with monitor:
        torch._dynamo.reset()
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
torch.compile(lambda x: x + 3, backend="eager")(torch.ones(2))
assert not torch._dynamo.callback_handler.start_callbacks
found = monitor.summary()
assert found.compiled.count == 2 and found.compiled.seconds > 0, found.compiled
assert found.breaks == []
def breaks(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * 2
torch.compile(breaks, backend="eager")(torch.ones(2))
(one,) = monitor.summary().breaks
assert one["site"] == "program.py:16" and one["why"] and one["count"] == 1, one
assert "program.py:16  1 × " in str(monitor.summary())
"""
    python(
        f"exec(compile({code!r}, 'program.py', 'exec'))", TDEV_BACKEND="cpu"
    )  # a line of a file: dynamo looks for its source
