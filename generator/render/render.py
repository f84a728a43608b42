"""Render the templates for a catalog; needs no torch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinja2

from generator.errors import GenerationError
from generator.render.answers import Answers
from generator.render.formatting import formatted
from generator.render.matrix import matrix_text
from generator.render.merged import merged
from generator.render.names import names_text
from generator.render.stubs import Stubs
from generator.render.views import module_view, root_view

__all__ = ["render"]

# Private modules of the package; other names with a leading underscore are partials.
_EMITTED = ("_modules.py.j2", "_shims.py.j2")


def render(catalog: dict[str, Any], templates: Path) -> dict[str, str]:
    """Return every file of ``generated/`` with its text, by path relative to it, in POSIX form.

    ``catalog`` is of one torch, or of several that were joined.

    Raises:
        GenerationError: a template asks for something the catalog does not have, or emits text that
            is no Python.
    """
    environment = jinja2.Environment(  # nosec B701  # what is rendered is Python, not HTML
        loader=jinja2.FileSystemLoader(templates),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    catalog = merged(catalog)
    environment.globals["core"] = catalog["core"]
    files = {
        "tdev/_matrix.json": matrix_text(catalog),
        "tdev/_names.json": names_text(catalog),
    }
    for path, template, view in _jobs(catalog, templates):
        if path in files:
            raise GenerationError(f"two templates write {path}.")
        try:
            files[path] = environment.get_template(template).render(view)
        except jinja2.TemplateError as error:
            raise GenerationError(f"templates/{template}, for {path}: {error}.") from None
    return formatted(files)


def _jobs(catalog: dict[str, Any], templates: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    stubs, answers = Stubs(catalog), Answers(catalog)
    helpers = frozenset(
        path for row in catalog["members"].values() if row["helper"] for path in row["exports"]
    )
    view = root_view(catalog, stubs, answers, helpers)
    for path in sorted(templates.rglob("*.j2")):
        if not path.name.startswith("_") or path.name.startswith("__"):
            template = path.relative_to(templates).as_posix()
            yield template.removesuffix(".j2"), template, view
        elif path.name in _EMITTED:
            yield f"tdev/{path.stem}", path.relative_to(templates).as_posix(), view
    for module in catalog["stand_ins"]:
        stub = f"tdev/standins/{module.replace('.', '/')}/__init__.pyi"
        yield stub, "tdev/_stand_in.pyi.j2", {"module": module}
    for name in (*catalog["modules"], *catalog["private"]):
        if name == "torch":
            continue
        target = _target(name, catalog)
        yield f"{target}.pyi", "tdev/_stub.pyi.j2", stubs.view(name)
        if name in catalog["mirrors"]:
            yield f"{target}.py", "tdev/_mirror.py.j2", module_view(name, catalog, answers, helpers)


def _target(name: str, catalog: dict[str, Any]) -> str:
    """Return the path of the module's stub, and of its source if it has one, without the suffix.

    A stub without a source stands in a folder, also where torch's module is none: pyright warns of a
    ``hub.pyi`` that it finds no ``hub.py`` for, and takes a folder for a package of modules.
    """
    stem = "tdev" + name[len("torch") :].replace(".", "/")
    if name in catalog["mirrors"] and not catalog["modules"][name]["package"]:
        if not _has_children(name, catalog):
            return stem
    return f"{stem}/__init__"


def _has_children(name: str, catalog: dict[str, Any]) -> bool:
    return any(other.startswith(name + ".") for other in catalog["mirrors"])
