"""Render the templates for a catalog; needs no torch."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2
from black import format_str
from black.mode import Mode, TargetVersion
from black.parsing import InvalidInput

from generator.errors import GenerationError
from generator.facts.cache import folder
from generator.memo import Memo, digest
from generator.render.matrix import matrix_text
from generator.render.views import module_view, root_view, stub_view, whole_modules

__all__ = ["render"]

_MODE = Mode(line_length=100, target_versions={TargetVersion.PY310})
_STUB_MODE = Mode(line_length=100, target_versions={TargetVersion.PY310}, is_pyi=True)


_WORTH_PROCESSES = 50  # files to format: fewer are done before a process has started

# Private modules of the package; other names with a leading underscore are partials.
_EMITTED = ("_modules.py.j2", "_shims.py.j2")


def render(catalog: dict[str, Any], templates: Path) -> dict[str, str]:
    """Every file of ``generated/`` with its text, by path relative to it, in POSIX form.

    Raises:
        GenerationError: a template asks for something the catalog does not have, or emits text that
            black cannot parse.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    files: dict[str, str] = {}
    for path, template, view in _jobs(catalog, templates):
        if path in files:
            raise GenerationError(f"two templates write {path}.")
        try:
            text = environment.get_template(template).render(view)
        except jinja2.TemplateError as error:
            raise GenerationError(f"templates/{template}, for {path}: {error}.") from None
        files[path] = text
    return {"tdev/_matrix.json": matrix_text(catalog), **_all_formatted(files)}


def _all_formatted(files: dict[str, str]) -> dict[str, str]:
    """``files`` as black writes them: from what is remembered, the others on all processors."""
    memo = Memo(folder() / "formatted.json")
    black_version = version("black")
    keys = {path: digest(black_version, path, text) for path, text in files.items()}
    missing = [path for path, key in keys.items() if not memo.knows(key)]
    made: dict[str, str] = {}
    if len(missing) >= _WORTH_PROCESSES:
        with ProcessPoolExecutor() as pool:
            texts = pool.map(_formatted, missing, map(files.__getitem__, missing), chunksize=16)
            made = dict(zip(missing, texts, strict=True))
    result = {
        path: memo.get(keys[path], partial(_made, made, path, text)) for path, text in files.items()
    }
    memo.save()
    return result


def _made(made: dict[str, str], path: str, text: str) -> str:
    return made[path] if path in made else _formatted(path, text)


def _jobs(catalog: dict[str, Any], templates: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    whole = whole_modules(catalog)
    for name in catalog["modules"]:
        mirror = catalog["mirrors"].get(name)
        stem = "tdev" + name[len("torch") :].replace(".", "/")
        package = catalog["modules"][name]["package"] or name == "torch"
        if mirror is not None and not package and _has_children(name, catalog):
            package = True
        target = f"{stem}/__init__" if package else stem
        if name != "torch":
            names = stub_view(name, catalog, whole)
            if mirror is None:
                # Not a stub: checkers warn of a stub without a source beside it.
                yield f"{target}.py", "tdev/_alias.py.j2", names
            else:
                yield f"{target}.pyi", "tdev/_stub.pyi.j2", names
                yield f"{target}.py", "tdev/_mirror.py.j2", module_view(name, catalog)
    view = root_view(catalog, whole)
    for path in sorted(templates.rglob("*.j2")):
        if not path.name.startswith("_") or path.name.startswith("__"):
            template = path.relative_to(templates).as_posix()
            yield template.removesuffix(".j2"), template, view
        elif path.name in _EMITTED:
            yield f"tdev/{path.stem}", path.relative_to(templates).as_posix(), view


def _has_children(name: str, catalog: dict[str, Any]) -> bool:
    return any(other.startswith(name + ".") for other in catalog["mirrors"])


def _formatted(path: str, text: str) -> str:
    if not path.endswith((".py", ".pyi")):
        return text
    try:
        return format_str(text, mode=_STUB_MODE if path.endswith(".pyi") else _MODE)
    except InvalidInput as error:
        raise GenerationError(f"the templates emit invalid Python for {path}: {error}.") from None
