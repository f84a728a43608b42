"""Private modules, which programs import all the same, as a type checker sees them: by their text.

``torch.utils._pytree``, ``torch._dynamo.config``, ``torch.testing._internal.common_utils``: every module
that has one name with an underscore in its path, and at most one name behind that. Deeper ones
(``torch._inductor.codegen.cpp``) are left out: there are hundreds more, and few programs import them.
Nothing is imported to find out: it would take seconds, and some want what torch itself does not require.
"""

from __future__ import annotations

from collections.abc import Collection

from generator.facts.library import Library
from generator.facts.model import Private

__all__ = ["chosen", "private_modules"]


def chosen(library: Library) -> list[str]:
    """Return the private modules of torch that facts tell of, sorted."""
    return [name for name in library.private() if _is_near(name)]


def private_modules(library: Library, public: Collection[str]) -> tuple[Private, ...]:
    """Return what is seen in each of them; those in packages that are not among ``public`` are left out."""
    names = [name for name in chosen(library) if _public_parent(name) in public]
    reached = _reached(library, {*names, *public}) if names else set()
    return tuple(
        Private(
            name,
            library.file(name)[1],
            tuple(sorted(filter(_is_offered, library.visible(name)))),
            name in reached,
        )
        for name in names
    )


def _reached(library: Library, known: set[str]) -> set[str]:
    """Return the modules among ``known`` that a checker reads on its way through what ``torch`` imports."""
    reached: set[str] = set()
    waiting = ["torch"]
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        scope = library.scope(name)
        if scope is not None:
            waiting += scope.imports & known - reached
    return reached


def _is_near(module: str) -> bool:
    """Tell whether at most one name follows the first one with an underscore; a script is no module."""
    parts = module.split(".")
    first = next(number for number, part in enumerate(parts) if part.startswith("_"))
    return len(parts) - first <= 2 and parts[-1] != "__main__"


def _public_parent(module: str) -> str:
    """Return the public package that a private module is somewhere below."""
    return module.partition("._")[0]


def _is_offered(name: str) -> bool:
    """Tell whether a program may import it: not ``_``, nor ``__all__`` and its like."""
    return name != "_" and not (name.startswith("__") and name.endswith("__"))
