"""What was measured, drawn: in characters anywhere, as SVG where matplotlib is."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tdev_core.commands import report_cli
from tdev_core.errors import ConfigError
from tdev_core.measure import plotting
from tdev_core.measure.plotting import Bar

ROWS = [
    Bar("fused", 0.5, 0.45, 0.55),
    Bar("for-loop", 2.0, 1.9, 2.1),
    Bar("fails", math.nan, math.nan, math.nan),
]


def watched(count: int) -> dict[str, Any]:
    timeline = [
        {"seconds": [0.001 * (number + 1), 0.002, 0.001], "memory": [number * 2**20, 0, 0]}
        for number in range(count)
    ]
    phases = ("forward", "backward", "step")
    return {
        "steps": count, "timeline": timeline, "seconds": dict.fromkeys(phases, 0.002), "memory": dict.fromkeys(phases, 2**20),
        "waits": {"train.py:3 item": {"count": 4, "seconds": 0.25, "bytes": 0}},
    }  # fmt: skip


def test_bars_are_as_long_as_what_they_say() -> None:
    short, long = plotting.bars(ROWS).splitlines()
    assert short.count("█") * 4 == long.count("█") == 40
    assert short.index("│") == long.index("█") + 19, "1 is half of 2"
    assert short.endswith("0.50 × (0.45 to 0.55)")
    assert plotting.bars(ROWS[2:]) == "nothing was measured"


def test_steps_are_a_line_that_loses_no_peak() -> None:
    body = watched(500)
    body["timeline"][123]["seconds"][0] = 9.0
    line, memory = plotting.steps(body).splitlines()
    drawn = line.removeprefix("  ms  ").rpartition("  ")[0]
    assert len(drawn) <= 60 and drawn.count("█") == 1 and line.endswith("to 9e+03")
    assert memory.rpartition("  ")[0].endswith("█")
    assert plotting.steps(watched(0)) == "no step was watched"


def test_a_report_is_shown_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps({"version": 1, "backend": "sim", "watched": watched(3)}))
    assert report_cli.main([str(path)]) == 0
    out = capsys.readouterr().out
    assert "backend sim, 3 steps" in out and "train.py:3 item  4 ×, 0.250 s" in out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no JSON"),
        ("[]", "is no report of version 1"),
        ('{"version": 2}', "is no report of version 1"),
        ('{"version": 1, "watched": null}', "no training was watched"),
    ],
)
def test_what_is_no_report_is_refused(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "report.json"
    path.write_text(text)
    assert report_cli.main([str(path)]) == 2 and said in capsys.readouterr().err
    for words in (["nowhere.json"], ["--wat", "x"], ["--plot"], ["a", "b"]):
        assert report_cli.main(words) == 2 and "tdev report: " in capsys.readouterr().err
    assert report_cli.main([]) == 2 and report_cli.main(["--help"]) == 0


def test_where_matplotlib_is_not_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ConfigError, match=r"pip install 'tdev\[plot\]'"):
        plotting.draw_bars(tmp_path / "races.svg", "races", ROWS)


def test_a_plot_is_svg_with_every_label(tmp_path: Path) -> None:
    pytest.importorskip(
        "matplotlib", reason="an extra (tdev[plot]); where it is installed, this runs"
    )
    paths = [tmp_path / name for name in ("races.svg", "again.svg", "steps.svg")]
    for path in paths[:2]:
        plotting.draw_bars(path, "<races>", ROWS)
    plotting.draw_steps(paths[2], "steps", watched(5))
    assert paths[0].read_bytes() == paths[1].read_bytes()
    said = ["".join(ElementTree.parse(path).getroot().itertext()) for path in paths]
    assert all(word in said[0] for word in ("<races>", "fused", "for-loop"))
    assert "fails" not in said[0]
    assert all(word in said[2] for word in ("forward", "backward", "MiB"))
    with pytest.raises(ConfigError, match="cannot be written"):
        plotting.draw_bars(tmp_path / "nowhere" / "races.svg", "races", ROWS)
