"""Catalogs of several torches joined into one: each is got back, what differs is dated and emitted for each."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

import generator.__main__ as command
import tests.catalog
from generator import catalog as catalog_file
from generator import paths, union
from generator.errors import GenerationError, Undecided
from generator.facts import deltas
from generator.facts.elsewhere import record
from generator.facts.model import Facts
from generator.facts.pin import PINNED, FactsError
from generator.plan.plan import plan, plan_each, plan_one
from generator.render.merged import merged, range_text
from generator.render.render import render
from tests.catalog import joined, of_installed
from tests.generator import small

CORE = paths.CORE


def older() -> Facts:
    """A small torch."""
    return replace(small.facts(*small.members()), torch="2.13.0")


def newer() -> Facts:
    """One with two functions more, one less, and a parameter more of one that is routed."""
    members = [member for member in small.members() if member.name != "torch.relu"]
    (signature,) = members[0].signatures
    wider = replace(signature, parameters=(*signature.parameters, small.parameter("wait", "False")))
    members[0] = replace(members[0], signatures=(wider,))
    members += [
        small.function("torch.cuda.warm_up", returns="None"),
        small.function("torch.brand_new", small.parameter("input")),
    ]
    return replace(small.facts(*members), torch="2.15.0")


def in_order(facts: Facts) -> Facts:
    """Facts as they are read from torch: sorted."""
    return replace(facts, members=tuple(sorted(facts.members, key=lambda one: one.name)))


WARM = """
[warm_up]
spellings."torch.cuda.warm_up" = {}
cuda = { route = "native" }
"mps,mlx,sim,cpu" = { route = "noop", note = "nothing gets warm" }
"""
IGNORING = small.ROUTES.replace("ignores = { device", 'ignores = { wait = "it waits", device')
IGNORING = IGNORING.replace(
    'call = "torch.mps.synchronize()"',
    'call = "torch.mps.synchronize()", ignores = { wait = "it waits" }',
).replace('call = "devices.translate(device)"', 'call = "torch.Stream(device, wait=wait)"')


@pytest.fixture
def both(tmp_path: Path) -> dict[str, dict[str, Any]]:
    """The catalog of each of two torches."""
    routes = small.routes(tmp_path, IGNORING + WARM)
    return plan_each([older(), newer()], routes, small.EVIDENCE, CORE)


def test_a_joined_catalog_gives_each_back(both: dict[str, dict[str, Any]]) -> None:
    whole = json.loads(json.dumps(union.join(both, "2.13.0")))
    assert union.torches(whole) == ["2.13.0", "2.15.0"]
    for version, catalog in both.items():
        assert union.view(whole, version) == json.loads(json.dumps(catalog))


def test_what_not_every_torch_has_is_dated(both: dict[str, dict[str, Any]]) -> None:
    members = union.join(both, "2.13.0")["members"]
    assert members["torch.brand_new"]["since"] == "2.15" and "until" not in members["torch.full"]
    assert members["torch.relu"]["until"] == "2.13" and "since" not in members["torch.relu"]
    row = members["torch.cuda.synchronize"]
    device, wait = row["signatures"][0]["parameters"]
    assert wait["since"] == "2.15" and "since" not in device
    assert list(row["before"]) == ["2.15"] and "since" not in row


def test_a_torch_that_is_not_in_it_is_refused(both: dict[str, dict[str, Any]]) -> None:
    with pytest.raises(GenerationError, match=r"is of torch 2\.13, 2\.15, and not of 2\.14"):
        union.view(union.join(both, "2.13.0"), "2.14.0")


@pytest.mark.parametrize("installed", ["2.15.1", "2.13.2"])
def test_a_patch_release_has_what_its_minor_has(
    both: dict[str, dict[str, Any]],
    installed: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What tests walk, and what the drift check compares, is the minor's and not the newest's."""
    whole = union.join(both, "2.13.0")
    minor = union.view(whole, f"{union.short(installed)}.0")
    monkeypatch.setattr(tests.catalog, "installed_version", lambda: installed)
    assert of_installed(whole) == minor
    monkeypatch.setattr(command, "installed_version", lambda: installed)
    monkeypatch.setattr(command, "planned_alone", lambda: minor | {"torch": installed})
    monkeypatch.setattr(command, "_render_only", lambda check: 0)
    monkeypatch.setattr(catalog_file, "read", lambda path: whole)
    assert command.main(["--check"]) == 0, capsys.readouterr().out
    other = minor | {"torch": installed, "members": {}}
    monkeypatch.setattr(command, "planned_alone", lambda: other)
    assert command.main(["--check"]) == 1


def test_what_one_torch_lacks_another_has_to_have(tmp_path: Path) -> None:
    routes = small.routes(tmp_path, IGNORING + WARM)
    with pytest.raises(Undecided, match=r"has no 'torch\.cuda\.warm_up'"):
        plan(older(), routes, small.EVIDENCE, CORE)
    plan_one(older(), routes, small.EVIDENCE, CORE)
    nowhere = WARM.replace("warm_up", "cool_down")
    routes = small.routes(tmp_path, IGNORING + WARM + nowhere)
    with pytest.raises(Undecided) as caught:
        plan_each([older(), newer()], routes, small.EVIDENCE, CORE)
    assert [one.member for one in caught.value.decisions] == ["torch.cuda.cool_down"]


def test_a_parameter_that_no_torch_has_is_refused(tmp_path: Path) -> None:
    routes = small.routes(tmp_path, (IGNORING + WARM).replace("wait=wait", "wait=wait, spin=spin"))
    with pytest.raises(Undecided, match=r"\[synchronize\]: .* has no parameter 'spin'"):
        plan_each([older(), newer()], routes, small.EVIDENCE, CORE)


def test_the_emitted_code_has_a_form_for_each(both: dict[str, dict[str, Any]]) -> None:
    files = render(union.join(both, "2.13.0"), paths.TEMPLATES)
    text = files["tdev/cuda/__init__.py"]
    new, _, old = text.partition("if _torch_release >= (2, 15):")[2].partition("\nelse:\n")
    assert "def synchronize(device: torch.types.Device = None, wait: Any = False)" in new
    assert "torch.Stream(device, wait=wait)" in new
    assert "def synchronize(device: torch.types.Device = None) -> None" in old
    assert "torch.Stream(device)" in old
    assert '"warm_up": "2.15 and newer"' in text and 'generated_from="2.13 to 2.15"' in text
    assert "# Torch 2.15 and newer.\ndef warm_up() -> None:" in text
    assert text.count("def temperature(") == 1
    stub = files["tdev/__init__.pyi"]
    note = "  # type: ignore[attr-defined,unused-ignore]\n"
    assert f"from torch import brand_new as brand_new{note}" in stub
    assert f"from torch import relu as relu{note}" in stub


def test_a_summary_alone_needs_no_second_form(tmp_path: Path) -> None:
    reworded = [replace(member, summary="Otherwise.") for member in small.members()]
    torches = [older(), replace(small.facts(*reworded), torch="2.14.0")]
    routes = small.routes(tmp_path)
    whole = union.join(plan_each(torches, routes, small.EVIDENCE, CORE), "2.13.0")
    rows = merged(whole)["mirrors"]["torch.cuda"]["definitions"]
    assert rows and not any(row["older"] for row in rows)


@pytest.mark.parametrize(
    ("having", "text"),
    [
        (["2.15.0", "2.14.0", "2.13.0"], ""),
        (["2.15.0", "2.14.0"], "2.14 and newer"),
        (["2.13.0"], "2.13 and older"),
        (["2.14.0"], "2.14"),
        (["2.15.0", "2.13.0"], "2.13 and 2.15"),
    ],
)
def test_which_torches_have_a_name(having: list[str], text: str) -> None:
    assert range_text(having, ["2.15.0", "2.14.0", "2.13.0"]) == text


def test_facts_come_back_from_what_differs() -> None:
    delta = json.loads(deltas.dumps(deltas.difference(older(), newer())))
    assert delta["members"]["torch.relu"] is None and "torch.full" not in delta["members"]
    assert deltas.applied(older(), delta) == in_order(newer())
    assert deltas.applied(newer(), deltas.difference(newer(), older())) == in_order(older())
    with pytest.raises(FactsError, match=r"differs from torch 2\.13\.0"):
        deltas.applied(newer(), delta)


def test_each_torch_gets_the_form_that_was_planned_for_it() -> None:
    """Of the real catalog: the parameters that torch has there, and the arms."""
    whole = joined()
    mirrors = merged(whole)["mirrors"]
    forms = 0
    for version in union.torches(whole):
        for module, mirror in union.view(whole, version)["mirrors"].items():
            emitted = {row["name"]: row for row in mirrors[module]["definitions"]}
            for planned in mirror["definitions"]:
                form = emitted[planned["name"]]
                for older_one in form["older"]:
                    if union.release(version) < tuple(older_one["before"]):
                        form, forms = older_one, forms + 1
                assert form["arms"] == planned["arms"], (version, planned["torch_name"])
                assert names_of(form["signature"]) == names_of(planned["signature"])
    assert forms >= 10


def names_of(signature: str) -> str:
    """The parameters of a definition, without annotations."""
    tree = ast.parse(f"def f{signature or '()'}: ...")
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
    arguments = tree.body[0].args  # type: ignore[attr-defined]
    return ast.unparse(arguments)


def test_every_torch_of_the_catalog_is_recorded() -> None:
    """The line of each file that says what it is, and the catalog's own."""
    assert joined()["torch"] == PINNED
    assert union.torches(joined()) == sorted([PINNED, *deltas.recorded()], key=union.release)
    for version in deltas.recorded():
        with deltas.path_of(version).open(encoding="utf-8") as file:
            head = [file.readline() for _ in range(3)]
        assert head == [
            "{\n",
            f'"base":"{PINNED}",\n'.replace(":", ": "),
            f'"torch": "{version}",\n',
        ]


def test_the_nightly_run_is_of_every_torch_of_the_catalog() -> None:
    """On two Pythons at least; the pinned one has more in the job that runs at every change."""
    text = (paths.ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    matrix = yaml.safe_load(text)["jobs"]["torches"]["strategy"]["matrix"]
    cells = {(torch, python) for torch in matrix["torch"] for python in matrix["python"]}
    cells -= {(cell["torch"], cell["python"]) for cell in matrix.get("exclude", ())}
    cells |= {(cell["torch"], cell["python"]) for cell in matrix.get("include", ())}
    assert {torch for torch, _ in cells} == {*deltas.recorded(), PINNED}
    few = {one for one in deltas.recorded() if sum(torch == one for torch, _ in cells) < 2}
    assert not few


@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("2.15", "is not a release of torch"),
        ("torch", "is not a release of torch"),
        ("2.15.0; rm", "is not a release of torch"),
        (PINNED, "is the pinned one"),
        *(
            (f"{union.short(one)}.99", f"is read as {one}")
            for one in (PINNED, deltas.recorded()[-1])
        ),
    ],
)
def test_only_another_release_is_recorded(version: str, why: str) -> None:
    with pytest.raises(FactsError, match=why):
        record(version)
