"""Lists the rules, in the order in which they look at a file."""

from __future__ import annotations

from collections.abc import Callable

from tdev_core.codemod.engine.api import Rule, Style
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules import (
    alignment,
    arms,
    behind_what_stays,
    build_version,
    compare,
    cudas_arms,
    demands,
    expected_failures,
    handed_on,
    identity,
    import_places,
    imports,
    is_cuda,
    kept_arms,
    kept_module,
    kept_questions,
    kernels,
    moves,
    never_called,
    not_on_mps,
    old_torch,
    parallel_arms,
    patches_of_tests,
    reference_rules,
    references,
    stand_ins,
    strings,
    torchscript,
    whole_files,
)
from tdev_core.codemod.engine.rules.accelerator import generic_names, layout, settings, whole
from tdev_core.codemod.engine.rules.accelerator import rules as accelerator
from tdev_core.codemod.engine.rules.tests_stay import TEST

RULES: tuple[Rule, ...] = (
    reference_rules.REFERENCE,
    reference_rules.NO_DIFFERENCE,
    reference_rules.ARGUMENT,
    compare.COMPARISON,
    is_cuda.IS_CUDA,
    demands.DEMAND,
    build_version.VERSION,
    strings.STRINGS,
    handed_on.FOREIGN,
    handed_on.UNKNOWN,
    moves.MOVES,
    import_places.IMPORT,
    torchscript.TORCHSCRIPT,
    arms.ARMS,
    reference_rules.PRIVATE,
    kernels.CUDA_ONLY,
    kernels.KERNEL,
    kernels.POINTER,
    kernels.TOOL,
    kernels.STAR,
    stand_ins.STAND_IN,
    TEST,
    accelerator.ACCELERATOR,
    accelerator.GAP,
)

Pass = Callable[[File], None]

_TDEV: tuple[Pass, ...] = (
    imports.collect_imports,
    cudas_arms.cudas_arms,
    parallel_arms.parallel_arms,
    cudas_arms.tried_beside_others,
    cudas_arms.in_cudas_place,
    cudas_arms.named_beside_others,
    cudas_arms.under_a_fake,
    cudas_arms.spread_over_devices,
    cudas_arms.after_what_refuses,
    expected_failures.expected_failures,
    parallel_arms.done_for_others,
    parallel_arms.functions_of_others,
    whole_files.functions_of_cuda,
    whole_files.classes_of_cuda,
    whole_files.launches,
    whole_files.beside_a_package,
    whole_files.told_of_cuda,
    whole_files.answers_of_cuda,
    old_torch.arms_of_old_torch,
    old_torch.handlers_of_old_torch,
    never_called.never_called,
    kept_arms.kept_arms,
    references.references,
    kept_module.kept_module,
    strings.strings,
    handed_on.handed_on,
    compare.comparisons,  # a word that has become the device's name is asked another question
    is_cuda.is_cuda_attributes,
    moves.moves,
    not_on_mps.not_on_mps,
    kernels.kernels,
    torchscript.scripts,
    stand_ins.stand_in_imports,
    File.use_what_goes_besides,
    imports.imports,
    identity.identities,
    kept_questions.kept_questions,
    behind_what_stays.behind_what_stays,
    cudas_arms.arms_that_stay,
    layout.fit_lines,
    layout.join_lines,
    alignment.keep_aligned,
)
_ACCELERATOR: tuple[Pass, ...] = (
    settings.settings,
    generic_names.accelerator,
    strings.strings,
    compare.comparisons,
    is_cuda.is_cuda_attributes,
    handed_on.handed_on,
    kernels.kernels,
    whole.whole_or_not,
    layout.lay_out,
)


OF_TESTS: tuple[Pass, ...] = (
    imports.collect_imports,
    expected_failures.expected_failures,
    patches_of_tests.patches_alone,
    strings.strings,
    imports.imports,
)
"""The passes over a test that stays."""


def passes(style: Style) -> tuple[Pass, ...]:
    """Return the passes over a file in this style, in order."""
    return _ACCELERATOR if style == "accelerator" else _TDEV
