"""Lines that have become too long are broken where a formatter breaks them."""

from __future__ import annotations

from tdev_core.codemod.engine.rules.accelerator.wrapping import wrapped


def test_what_is_called_on_a_result_stays_on_its_line() -> None:
    line = "    values = stack(current_tokens, lengths=[longest]).to(device)"
    assert wrapped(line, 50) == [
        "    values = stack(",
        "        current_tokens, lengths=[longest]",
        "    ).to(device)",
    ]
