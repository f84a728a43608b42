"""Decisions of the planner on a small torch, and how it announces what nobody has decided."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from generator import catalog as catalog_file
from generator.errors import GenerationError
from generator.facts.model import Facts, Method
from generator.paths import CORE
from generator.plan.arguments import refuse_untaken, used_names
from generator.plan.core import Core
from generator.plan.evidence import Evidence, read_evidence
from generator.plan.plan import plan
from generator.plan.routes import Routes

sys.path.insert(0, str(Path(__file__).parent))
import small  # noqa: E402


def planned(facts: Facts, routes: Routes) -> dict[str, Any]:
    return plan(facts, routes, small.EVIDENCE, CORE)


@pytest.fixture
def catalog(tmp_path: Path) -> dict[str, Any]:
    return planned(small.facts(*small.members()), small.routes(tmp_path))


def row(catalog: dict[str, Any], name: str) -> dict[str, Any]:
    rows = catalog["mirrors"][name.rpartition(".")[0]]["definitions"]
    (found,) = [entry for entry in rows if entry["torch_name"] == name]
    return dict(found)


def test_a_device_that_refuses_a_function_is_told_in_its_column(tmp_path: Path) -> None:
    lacking = 'lacking.mlx = "it has no such tensors"'
    unclear = small.function("torch.spread", replace(small.parameter("x"), name="device_map"))
    for name, devices in (("spread", 'none = "x"'), ("full", 'devices = ["device"]')):
        entry = f'["torch.{name}"]\n{devices}\n{lacking}\n'
        other = '["torch.spread"]\nnone = "x"\n' if name == "full" else ""
        routes = small.routes(tmp_path, devices=entry + other)
        member = planned(small.facts(*small.members(), unclear), routes)["members"][f"torch.{name}"]
        assert (member["mlx"]["route"], member["mlx"]["note"]) == (
            "unsupported",
            "it has no such tensors",
        )
        assert member["mps"]["route"] != "unsupported"


def test_every_column_has_route_and_evidence(catalog: dict[str, Any]) -> None:
    for name, member in catalog["members"].items():
        for backend in ("cpu", "cuda", "mps", "mlx", "sim"):
            always = set(member[backend]) - {"ignores"}
            assert always == {"route", "evidence", "asserted", "note"}, name


def test_routes_and_evidence_arrive_in_the_cells(catalog: dict[str, Any]) -> None:
    member = catalog["members"]["torch.cuda.synchronize"]
    assert member["cuda"]["route"] == "native"
    assert member["mps"]["route"] == "mapped"
    assert member["cpu"]["route"] == "noop" and "finished" in member["cpu"]["note"]
    assert (member["cpu"]["evidence"], member["cpu"]["asserted"]) == ("executed", "effect")
    assert (member["mps"]["evidence"], member["mps"]["asserted"]) == ("checked", "")
    assert member["cuda"]["evidence"] == "inherited"  # torch's own, at home
    relu = catalog["members"]["torch.relu"]
    assert {relu[backend]["evidence"] for backend in ("cpu", "cuda", "sim")} == {"inherited"}
    assert relu["sim"] == relu["cpu"] and relu["cpu"]["route"] == "same"


def test_what_a_test_has_executed_is_no_evidence_where_torch_has_removed_it(tmp_path: Path) -> None:
    """The function that it left in its place has the name, and raises."""
    evidence = Evidence({("sim", "torch.relu"): ("executed", "value")})
    for home, found in (("torch", "executed"), ("torch._linalg_utils", "inherited")):
        others = (m for m in small.members() if m.name != "torch.relu")
        (relu,) = (m for m in small.members() if m.name == "torch.relu")
        facts = small.facts(*others, replace(relu, defined_in=home))
        cell = plan(facts, small.routes(tmp_path), evidence, CORE)["members"]["torch.relu"]["sim"]
        assert (cell["route"], cell["evidence"]) == ("same", found)
        assert cell["note"].startswith("removed") == (found == "inherited")


def test_what_newer_torches_alone_do_is_no_evidence_for_older_ones(tmp_path: Path) -> None:
    names = {"torch.relu": "value"}
    for first, found in (("2.13", "executed"), ("2.14", "inherited")):
        text = json.dumps({"kind": "executed", "functions": names, "since": {"torch.relu": first}})
        (tmp_path / "sim.json").write_text(text, encoding="utf-8")
        evidence = read_evidence(tmp_path)
        facts = small.facts(*small.members())
        assert facts.torch == "2.13.0"
        cell = plan(facts, small.routes(tmp_path), evidence, CORE)["members"]["torch.relu"]["sim"]
        assert cell["evidence"] == found


def test_evidence_that_says_not_what_was_asserted_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cpu.json"
    for functions, word in (
        ('["torch.relu"]', "evidence file"),
        ('{"torch.relu": "came back"}', "came back"),
    ):
        path.write_text(f'{{"kind": "executed", "functions": {functions}}}')
        with pytest.raises(GenerationError, match=word):
            read_evidence(tmp_path)
    path.write_text('{"kind": "executed", "functions": {"torch.relu": "value"}}')
    assert read_evidence(tmp_path).of("torch.relu", "cpu", own=True)["asserted"] == "value"


def test_arms_are_finished_statements(catalog: dict[str, Any]) -> None:
    arms = {
        backend: arm["body"]
        for arm in row(catalog, "torch.cuda.synchronize")["arms"]
        for backend in arm["backends"]
    }
    assert "CUDA" not in arms  # there torch's own function stands in its place
    assert arms["MPS"] == ["_devices.device_index(device)", "torch.mps.synchronize()"]
    assert arms["MLX"] == ["import mlx.core as _mx", "_mx.synchronize()"]
    assert arms["SIM"] == ["_devices.translate(device)"]
    assert arms["CPU"][0].startswith("return")


def test_equal_arms_are_one(catalog: dict[str, Any]) -> None:
    arms = row(catalog, "torch.cuda.temperature")["arms"]
    assert [arm["backends"] for arm in arms] == [["MPS", "MLX", "SIM", "CPU"]]
    assert "_unsupported('torch.cuda.temperature', 'there is no sensor'" in arms[0]["body"][0]


def test_device_parameters_are_translated(catalog: dict[str, Any]) -> None:
    definition = row(catalog, "torch.full")
    assert definition["kind"] == "translated"
    assert "device = _translate(device)" in definition["arms"][0]["body"]
    assert catalog["members"]["torch.full"]["devices"] == ["device"]


def test_the_catalog_round_trips_one_line_per_member(catalog: dict[str, Any]) -> None:
    text = catalog_file.dumps(catalog)
    assert catalog_file.loads(text) == catalog
    assert text.count('\n  "torch.relu": ') == 1


@pytest.mark.parametrize(
    ("routes", "words"),
    [
        (
            small.ROUTES.replace("torch.cuda.temperature", "torch.cuda.temperatur"),
            "has no 'torch.cuda.temperatur'",
        ),
        (
            small.ROUTES.replace("devices.translate(device)", "devices.translate(devic)"),
            "uses 'devic'",
        ),
        (
            small.ROUTES.replace('object = "backend.Backend"', 'call = "backend.Backend"'),
            "give object",
        ),
        (
            small.ROUTES.replace('call = "torch.mps.synchronize()"', 'object = "torch"'),
            "is a function|give",
        ),
    ],
    ids=["unknown name", "unknown parameter", "call for a class", "object for a function"],
)
def test_routes_that_do_not_fit_torch(tmp_path: Path, routes: str, words: str) -> None:
    with pytest.raises(GenerationError, match=words):
        planned(small.facts(*small.members()), small.routes(tmp_path, routes))


_SIM = 'call = "devices.translate(device)"'
_FILE = """
import os as system
LIMIT = 3
class Sensor: ...
def whole(device, *, exact=False):
    return device, exact
def half(device, unit="C"):
    return device
"""


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("devices.transalte(device)", "no 'transalte'; did you mean 'translate'"),
        ("devices.translate()", "needs spec"),
        ("devices.translate(device, 1)", "takes 1 arguments by position"),
        ("devices.translate(device, exact=True)", "does not take 'exact'"),
        ("devices.translate(device, spec=1)", "does not take 'spec' there"),
        ("devices.translate(None)", r"synchronize drops device\. .*ignores = \{ device ="),
    ],
)
def test_a_call_that_cannot_be_made_or_drops_an_argument(
    tmp_path: Path, call: str, words: str
) -> None:
    routes = small.ROUTES.replace(_SIM, f'call = "{call}"')
    with pytest.raises(GenerationError, match=rf"\[synchronize\] sim.*{words}"):
        planned(small.facts(*small.members()), small.routes(tmp_path, routes))


def test_what_a_function_of_our_own_ignores_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "sensors.py").write_text(_FILE)
    core = Core(tmp_path / "core")
    assert used_names("sensors.whole(device, exact=unit)", core, "here") == {
        "sensors",
        "device",
        "unit",
    }
    assert used_names("sensors.half(device, unit)", core, "here") == {"sensors", "device"}
    assert used_names("sensors.half(unit=device, *given)", core, "here") == {"sensors", "given"}
    for known in ("sensors.LIMIT", "sensors.Sensor(device)", "sensors.system.name"):
        assert used_names(known, core, "here")
    with pytest.raises(GenerationError, match="half"):
        used_names("sensors.halve", core, "here")


_OBJECTS = """
class Told:
    "A class; `flags` is accepted."

    def __new__(cls, size, flags): return object.__new__(cls)
    def __init__(self, size, flags): self.size = size
    def told(self, word):
        "Answer, whatever the `word`."
        return self.size
    def refused(self, word): raise TypeError
    def nowhere(self, word): unsupported("things.Told.nowhere", "why", "instead")
    def __exit__(self, *error): return None

class Silent:
    "A class."

    def told(self, word): return 1

def silent(device, **more): return device
"""


def test_what_an_object_of_our_own_takes_it_reads_or_speaks_of(tmp_path: Path) -> None:
    """Classes, and functions that stand for private ones of torch; also where another module hands them on."""
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "things.py").write_text(_OBJECTS)
    (tmp_path / "core" / "door.py").write_text("from core.things import Silent as Quiet, silent")
    core = Core(tmp_path / "core")
    assert used_names("things.Told", core, "here")
    for text, words in (
        ("things.Silent", r"Silent\.told takes word and never looks at it"),
        ("door.Quiet", r"Silent\.told takes word"),
        ("door.silent", "silent takes more and never"),
    ):
        with pytest.raises(GenerationError, match=words):
            used_names(text, core, "here")
    with pytest.raises(GenerationError, match="takes 1 arguments by position"):
        used_names("door.silent(device, 1)", core, "here")


_CLASSES = """
class Made(torch.cuda.graph):
    def __init__(self, pool=None, mode="global"): self.pool, self.mode = pool, mode

class Derived(Made): pass
class Open(torch.cuda.graph):
    def __init__(self, *args, **kwargs): super().__init__(*args, **kwargs)
class Theirs(torch.cuda.graph): pass
"""


def test_a_class_of_our_own_takes_what_torchs_takes(tmp_path: Path) -> None:
    """Whatever its base in the same file, or its name elsewhere; one that is made as torch's takes it anyhow."""
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "things.py").write_text(_CLASSES)
    (tmp_path / "core" / "door.py").write_text("from core.things import Derived, Made as Other")
    core = Core(tmp_path / "core")
    signatures = [
        small.function("torch.cuda.graph", *map(small.parameter, names)).signatures[0]
        for names in (("pool",), ("pool", "mode", "config"))
    ]
    for text in ("things.Made", "things.Derived", "door.Other"):
        refuse_untaken(text, "torch.cuda.graph", signatures[:1], core, "here")
        with pytest.raises(GenerationError, match=f"{text} does not take config, which torch.cuda"):
            refuse_untaken(text, "torch.cuda.graph", signatures, core, "here")
    for text in ("things.Open", "things.Theirs", "torch.cuda.graph", "nowhere.graph"):
        refuse_untaken(text, "torch.cuda.graph", signatures, core, "here")


def test_ignoring_needs_a_reason_and_is_refused_where_it_is_not_so(tmp_path: Path) -> None:
    for given, words in (
        ('ignores = { device = "" }', "why ignoring it is right"),
        ('ignores = { device = "never" }', "device is used, and said to be ignored"),
    ):
        routes = small.ROUTES.replace(_SIM, f"{_SIM}, {given}")
        with pytest.raises(GenerationError, match=words):
            planned(small.facts(*small.members()), small.routes(tmp_path, routes))


def test_the_catalog_says_what_is_ignored(catalog: dict[str, Any]) -> None:
    member = catalog["members"]["torch.cuda.synchronize"]
    assert member["mlx"]["ignores"] == {"device": "MLX waits for all"}
    assert "ignores" not in member["sim"]


def test_a_noop_says_what_it_returns(tmp_path: Path) -> None:
    silent = 'route = "noop", note = "no sensor", ignores = { device = "none has one" }'
    unsupported = 'route = "unsupported", why = "there is no sensor", instead = "ask the system"'
    for given, words in (
        (silent, "temperature returns int; give the noop's value"),
        (silent + ', value = "None"', "give the noop's value"),
    ):
        with pytest.raises(GenerationError, match=words):
            planned(
                small.facts(*small.members()),
                small.routes(tmp_path, small.ROUTES.replace(unsupported, given)),
            )
    answered = small.ROUTES.replace(unsupported, silent + ', value = "0"')
    assert planned(small.facts(*small.members()), small.routes(tmp_path, answered))


def test_a_function_in_scope_needs_a_route(tmp_path: Path) -> None:
    new = small.function("torch.cuda.brand_new")
    with pytest.raises(GenerationError, match="torch.cuda.brand_new"):
        planned(
            small.facts(*small.members(), new),
            small.routes(tmp_path, scope='packages = ["torch.cuda"]'),
        )


def test_a_parameter_nobody_decided_about(tmp_path: Path) -> None:
    unclear = small.function("torch.spread", replace(small.parameter("x"), name="device_map"))
    with pytest.raises(GenerationError, match=r"torch\.spread\(device_map\)"):
        planned(small.facts(*small.members(), unclear), small.routes(tmp_path))
    decided = small.routes(tmp_path, devices='["torch.spread"]\nnone = "a table of names"')
    assert planned(small.facts(*small.members(), unclear), decided)["members"]["torch.spread"]


def test_a_method_nobody_decided_about(tmp_path: Path) -> None:
    method = Method(
        "torch.Thing", "go", "method", (), "live", ("torch.Thing",), undecided=("where",)
    )
    with pytest.raises(GenerationError, match=r"torch\.Thing\.go\(where\)"):
        planned(small.facts(*small.members(), methods=(method,)), small.routes(tmp_path))


def test_entries_for_what_torch_dropped(tmp_path: Path) -> None:
    gone = small.routes(tmp_path, devices='["torch.gone"]\nnone = "x"')
    with pytest.raises(GenerationError, match="torch.gone"):
        planned(small.facts(*small.members()), gone)
    gone = small.routes(tmp_path, devices="", shims='["torch.Gone.to"]\nnone = "x"')
    with pytest.raises(GenerationError, match="torch.Gone.to"):
        planned(small.facts(*small.members()), gone)
