"""The facts about torch, before anybody decides anything.

Invariants that hold for every ``Facts`` value:

- Everything is sorted and made of text, so two runs can be compared with ``==`` and written as JSON.
- Nothing names a machine: no addresses, file paths, clocks or local version suffixes.
- ``Member.name`` is in ``Member.exports``, and no dotted path is exported by two members.
- Annotations are written in one notation whatever Python read them (``X | None``, never
  ``Optional[X]``), and every name in them is spelled by its full dotted path
  (``torch.types.Device``), so that the text means the same in any module that imports the roots.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

ParameterKind = Literal[
    "positional_only", "positional_or_keyword", "var_positional", "keyword_only", "var_keyword"
]
MemberKind = Literal[
    "function",  # a Python function (also one wrapped by functools or torch.jit)
    "builtin",  # implemented in C or C++
    "class",
    "constant",  # numbers, strings, None and tuples of them; dtypes, layouts, memory formats
    "flag",  # a setting that a module computes: torch.backends.cudnn.benchmark
    "instance",  # any other object: loggers, registries, proxies, operators
    "type_alias",  # Union[...], type variables, NewType, names that typing itself defines
]
Source = Literal["live", "stub", "schema", "none"]
MethodKind = Literal["constructor", "method", "classmethod", "staticmethod"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of one signature.

    ``default`` is the text that torch's source has (``1e-5``, not ``1e-05``); ``None`` means that
    there is no default. ``default_expr`` is the same expression with its names written as full
    dotted paths, so that it can be evaluated after ``import``-ing their roots.
    """

    name: str
    kind: ParameterKind
    default: str | None = None
    annotation: str | None = None
    default_expr: str | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    """One way to call something; ``self`` and ``cls`` are left out of methods and constructors."""

    parameters: tuple[Parameter, ...]
    returns: str | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """One public object of torch, under every public path that leads to it.

    ``signatures`` holds what Python itself reports, followed by the ``@overload`` declarations of
    the same function, or the stub's overloads where Python reports nothing (``source`` says which).
    ``defined_in`` is the object's own ``__module__`` (the exporting module where it has none);
    ``helper`` says that torch only re-exports it (``lru_cache``, ``cast``, ``Optional``).
    ``value`` is the literal of a constant that is the same on every machine.
    """

    name: str
    kind: MemberKind
    signatures: tuple[Signature, ...] = ()
    source: Source = "none"
    summary: str = ""
    deprecated: str | None = None
    exports: tuple[str, ...] = ()
    defined_in: str = ""
    helper: bool = False
    value: str | None = None
    bases: tuple[
        str, ...
    ] = ()  # for a class: the public torch classes it inherits from, in MRO order
    operators: tuple[str, ...] = ()  # base names of the ATen operators that it runs


@dataclass(frozen=True, slots=True)
class Method:
    """A method or constructor through which a device can come in.

    ``owner`` is the dotted path (``__module__ + __qualname__``) of the class whose own body defines
    it, which may be private (``torch.nn.modules.conv._ConvNd``): it is the place where a shim has to
    sit. ``classes`` are the public classes that get it from there, by canonical name.
    ``devices`` are parameters known to be devices, ``undecided`` those that need a curated answer.
    A few methods are listed for their name alone, because a device arrives through ``*args`` or is
    implied (``PackedSequence.cuda``): both tuples are then empty.
    """

    owner: str
    name: str
    kind: MethodKind
    signatures: tuple[Signature, ...]
    source: Source
    classes: tuple[str, ...]
    devices: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Module:
    """One public module that imports with torch's own requirements.

    ``names`` are its public names: ``__all__`` and every other attribute without a leading
    underscore. Attributes that are modules are not in there but in ``modules``, as pairs of
    attribute and the module's own name (``("F", "torch.nn.functional")``). ``missing`` are names
    that ``__all__`` promises and the module does not have. ``reachable`` is False where the
    package's attribute of that name is deleted or something else (``torch.optim.adam`` is deleted,
    ``torch.optim.optimizer`` too): then only ``import`` leads there, not ``torch.optim.adam.Adam``.
    """

    name: str
    summary: str
    is_package: bool
    names: tuple[str, ...]
    has_all: bool
    declared: tuple[str, ...] = ()  # __all__ in its own order, public or not
    modules: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    reachable: bool = True
    error: str | None = None  # why it could not be imported; nothing else is known then
    visible: tuple[str, ...] = ()  # names that a type checker finds in its text, private ones too


@dataclass(frozen=True, slots=True)
class Private:
    """The names that a type checker finds in a module below a name that starts with an underscore.

    ``reached`` says that the text of ``torch`` itself leads there by imports, so that a checker that has
    read ``import torch`` has read the module too.
    """

    name: str
    is_package: bool
    visible: tuple[str, ...]
    reached: bool


@dataclass(frozen=True, slots=True)
class Operator:
    """One entry of ``native_functions.yaml`` that ships in the torch wheel.

    ``dispatch`` maps a dispatch key to a kernel, with the table of the structured delegate merged
    in. ``composite`` is ``implicit`` (made of other operators, autograd included) or ``explicit``
    (one kernel for every backend); ``None`` where each backend brings its own kernel.
    """

    name: str
    overload: str
    dispatch: Mapping[str, str]
    composite: Literal["implicit", "explicit"] | None
    delegate: str | None
    tags: tuple[str, ...]
    python_module: str | None = None
    variants: tuple[str, ...] = ("function",)
    schema: str = ""

    @property
    def full_name(self) -> str:
        """Name and overload as the dispatcher writes them, e.g. ``add.Tensor``."""
        return f"{self.name}.{self.overload}" if self.overload else self.name


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that was found in one installed torch.

    ``torch`` is the release without a local suffix. ``private`` are modules that are known by their text
    alone. ``skipped`` are modules that were not walked,
    with the reason. ``differences`` are sentences about what another build of torch, another
    Python or another machine would say differently.
    """

    torch: str
    modules: tuple[Module, ...]
    members: tuple[Member, ...]
    methods: tuple[Method, ...]
    operators: tuple[Operator, ...]
    skipped: tuple[tuple[str, str], ...] = field(default=())
    differences: tuple[str, ...] = field(default=())
    private: tuple[Private, ...] = field(default=())
