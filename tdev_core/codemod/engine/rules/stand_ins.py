"""Points imports of packages that have a stand-in to it, in the tdev styles."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import dotted
from tdev_core.codemod.engine.file import Change, File
from tdev_core.codemod.engine.rules._make import rule
from tdev_core.codemod.engine.rules.arms import enclosing_function
from tdev_core.codemod.engine.rules.import_order import planned
from tdev_core.codemod.engine.stand_in_names import lacks
from tdev_core.ecosystem.package_table import stand_ins

STAND_IN = rule(
    "stand-in",
    "Packages that have a stand-in",
    "note",
    """
    `from flash_attn import flash_attn_func` becomes `from tdev.standins.flash_attn import flash_attn_func`: the package itself
    where it is installed, on every device, and where it is not and there is no CUDA, functions of torch that mean the same.
    `import xformers.ops as xops` becomes `import tdev.standins.xformers.ops as xops`, and `import pynvml` becomes
    `from tdev.standins import pynvml`. [Packages for CUDA, one by one](../packages/index.md) tells which have one, and what
    each lacks: it says so when it is asked for.

    An import that the program can do without stays as it is, in a `try`, under an `if` or behind one that leaves the function:
    there the program takes its own way. So do one of a package in whose place a test puts something in `sys.modules`,
    `import xformers.ops` without `as`, which binds another name than it imports, and `from flash_attn import *`; they are
    reported by the rule `cuda-only-import`, as is an import of what the stand-in lacks.

    With `--target accelerator` torch's own function is written, where the calls of a file show that it means the same; the
    import goes with the last use of it, and every use of a package in a file changes, or none.

    - `flash_attn_func`, `flash_attn_qkvpacked_func` and `flash_attn_kvpacked_func` become `scaled_dot_product_attention` with
      the heads second, and back. flash_attn aligns a causal mask to the last query and key, `is_causal` to the first: they
      agree for as many queries as keys, which has to be seen: all three are parts of one tensor, or were viewed with the same
      length. The result is made contiguous, as flash_attn's is, unless what follows asks nothing of it. Windows, soft
      caps, ALiBi, `deterministic` and `return_attn_probs` stay.
    - `FusedAdam` becomes `AdamW`, or `Adam` where `adam_w_mode=False` says so, with `fused=True` and apex's decay of 0 where none is given. What
      differs is noted: a state that was saved does not load, and moments have the parameters' dtype.
    - `FusedLayerNorm` and `FusedRMSNorm` become `torch.nn`'s, with apex's `eps` of 1e-5. Under autocast torch's compute in float32.

    - `DistributedDataParallel`, `SyncBatchNorm` and `convert_syncbn_model` of `apex.parallel` become torch's. Buffers stay each
      rank's own, as apex's do: `broadcast_buffers=False`, torch's deprecated word for it, since the new one spreads rank 0's at
      first. How gradients travel (`message_size` and the like) goes; a sum instead of an average, `channel_last` and
      `fuse_relu` stay. Torch's `SyncBatchNorm` adds nothing to its output: a call with two tensors says so.

    Of a call that stays a note has torch's call with its arguments, and why it was not written. `apex.amp` is only told, line by
    line: `amp.initialize` patches torch's functions for the whole process, and `torch.autocast` stands around lines. Notes say
    which lines the loss comes from, and what the backward pass, the steps, `master_params` and the state become with a `GradScaler`.
    """,
)


def know_answered(file: File) -> None:
    """Have the other rules know which packages are answered for: all of a file's imports of them become the stand-in's."""
    if file.options.program or file.options.style == "accelerator":
        return
    answered: dict[str, bool] = {}
    for node in (*file.tree.of(cst.ImportFrom), *file.tree.of(cst.Import)):
        for name in _packages(node):
            points = is_answered(file, node)
            answered[name] = answered.get(name, True) and points
            if points:
                file.pointed.append(file.tree.span(node))
    names = frozenset(name for name, every in answered.items() if every)
    if names:
        file.options = replace(file.options, answered=names)


def _packages(node: cst.Import | cst.ImportFrom) -> list[str]:
    """Return the packages with a stand-in that an import names."""
    if isinstance(node, cst.ImportFrom):
        modules = [] if node.relative or node.module is None else [dotted(node.module) or ""]
    else:
        modules = [dotted(alias.name) or "" for alias in node.names]
    tops = (module.partition(".")[0] for module in modules)
    return [top for top in tops if top in stand_ins()]


def stand_in_imports(file: File) -> None:
    """Point the imports to ``tdev.standins``, except in a program that is started: there the import asks by itself."""
    if file.options.program or file.options.style == "accelerator":
        return
    for node in file.tree.of(cst.ImportFrom):
        if is_answered(file, node) and node.module is not None:
            _point(file, node, node.module, f"tdev.standins.{dotted(node.module)}")
    for single in file.tree.of(cst.Import):
        if is_answered(file, single):
            alias = single.names[0]
            name = dotted(alias.name) or ""
            if alias.asname is None:
                _say(file, single, name)
                file.replace_node(STAND_IN, single, f"from tdev.standins import {name}")
            else:
                _point(file, single, alias.name, f"tdev.standins.{name}")


def is_answered(file: File, node: cst.Import | cst.ImportFrom) -> bool:
    """Tell whether an import becomes the stand-in's, or torch's own with ``--target accelerator``."""
    if file.options.program or file.kept(node):
        return False
    if file.options.style == "accelerator":
        return file.tree.span(node) in file.replaced
    if isinstance(node, cst.ImportFrom):
        if node.relative or node.module is None or isinstance(node.names, cst.ImportStar):
            return False
        name, whole = dotted(node.module) or "", True
    else:
        name = dotted(node.names[0].name) or ""
        whole = len(node.names) == 1 and (
            node.names[0].asname is not None or "." not in name and not _is_bound_again(file, name)
        )
    top, tree = name.partition(".")[0], file.options.tree
    if (
        top not in stand_ins()
        or tree is not None
        and top in tree.put_in_place  # which the stand-in's modules would not follow
        or not whole
        or _asks_for_what_it_lacks(file, node, name)
        or _unpacks_another_number(file, node)
    ):
        return False
    if any(
        isinstance(p, (cst.Try, cst.TryStar, cst.If, cst.With)) for p in file.tree.ancestors(node)
    ):
        return False
    return not _comes_after_a_question(file, node, top)


def _comes_after_a_question(file: File, node: cst.CSTNode, top: str) -> bool:
    """Tell whether its function has ended before an import where the package is missing: ``if not has_xformers(): return``."""
    home = enclosing_function(file, node)
    if home is None:
        return False
    # Read from the text: an `if` of no concern is not in the tree.
    before = file.tree.source[file.tree.span(home)[0] : file.tree.span(node)[0]]
    indent = before.rpartition("\n")[2]
    asks = rf"^{indent}if\b[^\n]*{top}[^\n]*:[ \t]*\n(?:{indent}[ \t]+[^\n]*\n)*?{indent}[ \t]+(?:return|raise)\b"
    return re.search(asks, before, re.MULTILINE | re.IGNORECASE) is not None


def _is_bound_again(file: File, top: str) -> bool:
    """Tell whether ``import xformers.ops`` stands beside ``import xformers``: it binds the name to the package itself."""
    aliases = [alias for node in file.tree.of(cst.Import) for alias in node.names]
    return any(
        alias.asname is None and (dotted(alias.name) or "").startswith(f"{top}.")
        for alias in aliases
    )


def _asks_for_what_it_lacks(file: File, node: cst.Import | cst.ImportFrom, module: str) -> bool:
    """Tell whether a file names what the stand-in lacks: no machine would have it from there.

    In its import; of a package that can be imported anywhere, ``import pynvml``, wherever it is used.
    """
    names: list[str] = []
    if isinstance(node, cst.ImportFrom):
        if not isinstance(node.names, cst.ImportStar):
            names = [dotted(alias.name) or "" for alias in node.names]
    elif stand_ins()[module.partition(".")[0]].loads:
        called = node.names[0].evaluated_alias or module
        names = re.findall(rf"(?<![\w.]){re.escape(called)}\.(\w+)", file.code)
    return lacks(module, names)


# How many things the functions of stand-ins give that have given fewer in older versions of their package.
_GIVE = {"unpad_input": 5}


def _unpacks_another_number(file: File, node: cst.Import | cst.ImportFrom) -> bool:
    """Tell whether the code is written for a version that gives another number of things: ``q, indices, lens, most = unpad_input(…)``."""
    if not isinstance(node, cst.ImportFrom) or isinstance(node.names, cst.ImportStar):
        return False
    called = {
        alias.evaluated_alias or alias.evaluated_name: _GIVE[alias.evaluated_name]
        for alias in node.names
        if alias.evaluated_name in _GIVE
    }
    if not called or file.python is None:
        return False
    for each in file.python.statements:
        match each:
            case ast.Assign(
                targets=[ast.Tuple(elts=parts)], value=ast.Call(func=ast.Name(id=name))
            ) if name in called and not any(isinstance(part, ast.Starred) for part in parts):
                if len(parts) != called[name]:
                    return True
            case _:
                pass
    return False


def _point(file: File, node: cst.CSTNode, place: cst.CSTNode, text: str) -> None:
    _say(file, node, text.removeprefix("tdev.standins."))
    start, end = file.tree.span(place)
    plain = isinstance(node, cst.Import)
    planned(file, file.tree.span(node), Change(start, end, text, STAND_IN.id), text, plain)


def _say(file: File, node: cst.CSTNode, module: str) -> None:
    known = stand_ins()[module.partition(".")[0]]
    file.find(
        STAND_IN,
        node,
        f"{known.name} ({known.what}) is answered by tdev.standins where it is not installed; it lacks {known.lacks}".replace(
            "`", ""
        ),
    )
