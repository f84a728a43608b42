"""Defines what the engine is given and what it answers: types alone, which import nothing of it.

Invariants of a :class:`Result`:

- the result's ``code`` is the source with ``edits`` applied; nothing outside the edits'
  spans differs by a byte;
- lines and columns are 1-based, columns count characters (not bytes), end columns are
  exclusive;
- ``rewrite(rewrite(s).code).code == rewrite(s).code``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from tdev_core.codemod.engine.asked import Asked

Style = Literal["explicit", "alias", "accelerator"]
Severity = Literal["error", "warning", "note"]
Parameters = tuple[tuple[str, "int | None"], ...]

STYLES: tuple[Style, ...] = ("explicit", "alias", "accelerator")
IMPORT_RULES = ("import", "tdev-import")
"""The rules whose edits are imports, which follow what the others found."""


class Handing(NamedTuple):
    """The functions, and the classes by their ``__init__``, that hand on a device; and whether that of a configuration comes to one."""

    functions: frozenset[str] = frozenset()
    settings: bool = False
    divided: bool = False
    """Whether a file that reads the device of a configuration takes something to CUDA besides."""


@dataclass(frozen=True)
class ProgramTree:
    """The facts about the files that a run is over which a rule asks for beyond its own file.

    Names of modules and functions are their last parts: a coarse answer that needs no import system.
    """

    modules: frozenset[str] = frozenset()
    """Packages and modules of the tree, by the name that an absolute import starts with."""
    near: frozenset[str] = frozenset()
    """What lies in the same project, read or not, by the names of its files and folders that may be imported."""
    kernels: frozenset[str] = frozenset()
    """Modules that hold kernels for CUDA or cannot be imported without its packages."""
    kernel_modules: frozenset[str] = frozenset()
    """Modules that hold kernels themselves, and packages that are made of such, by the names they are imported by."""
    tried_kernels: frozenset[str] = frozenset()
    """What modules have only where kernels for CUDA could be built or are installed, by ``module.name``: ``try: ops = load(…)``, and ``fused`` with it."""
    device_constants: frozenset[str] = frozenset()
    """Variables of modules that hold a ``torch.device`` in each module that has them."""
    device_lists: frozenset[str] = frozenset()
    """Those that hold a list of them, ``DEVICES = [torch.device("cpu")]``, and into which the tree puts nothing else."""
    device_words: Mapping[str, str] = field(default_factory=dict)
    """What classes and modules of the tree call devices by, by ``owner.NAME``: ``"cuda"`` of ``DeviceType.CUDA``."""
    word_devices: frozenset[str] = frozenset()
    """``Class.attribute`` of each class that has, or inherits, a device that is a word: ``_device: str``."""
    told_devices: frozenset[Asked] = frozenset()
    """The questions about tensors and devices that only all files together can answer, and that they say yes to."""
    kernel_rooms: frozenset[str] = frozenset()
    """Packages at any depth most of whose modules hold kernels: the others are there for those."""
    platforms: frozenset[str] = frozenset()
    """Modules of CUDA's beside which the same folder has one of another accelerator: ``accelerators/cuda.py``, or a folder ``ops/cuda``; ``model/nvidia`` and ``model/amd`` side by side."""
    taken: frozenset[str] = frozenset()
    """Functions of packages for CUDA that a module takes from another one of the tree: ``from .attention import flash_attn_func``."""
    torch_of: frozenset[str] = frozenset()
    """Modules that import torch at their margin, or take it from one that does: it can be taken from them.

    By their last names where all of that name do, and by their whole names, ``pkg.torch.utils``, those that it is taken from.
    """
    gives_torch: frozenset[str] = frozenset()
    """Modules from which another one imports the name ``torch``."""
    reached: frozenset[str] = frozenset()
    """Modules through which another one reaches torch, ``core.torch.cuda``, by their last names; ``*``: one whose name is not told."""
    gives_amp: frozenset[str] = frozenset()
    """Modules from which another one takes a name of ``torch.cuda.amp``, by their last names."""
    marked_for_pylint: bool = False
    """Whether its comments silence pylint, and no other linter: ``# pylint: disable=…``, and nowhere ``# noqa``."""
    called: frozenset[str] = frozenset()
    """Names that say CUDA or GPU and are used somewhere else than where they are defined."""
    stems: frozenset[str] = frozenset()
    """What its modules and packages are called, at whatever depth, by their last names."""
    given_to_tests: frozenset[str] = frozenset()
    """Names like ``use_cuda`` that a test, or what sets attributes by their names, may give a value that is no constant."""
    own_is_cuda: bool = False
    """Whether a class has a property ``is_cuda`` of its own."""
    beside: frozenset[str] = frozenset()
    """Those that a test asks which has an arm for another accelerator."""
    capabilities: frozenset[str] = frozenset()
    """Flags of modules that are made of a question for CUDA's architecture."""
    architectures: frozenset[str] = frozenset()
    """Functions that ask for an architecture by what NVIDIA calls it."""
    run_nvidias: frozenset[str] = frozenset()
    """Functions that run NVIDIA's own tool, and say in their name that they ask for GPUs."""
    give_devices: frozenset[str] = frozenset()
    """Functions that promise a ``torch.device``, each by a name that none without that promise has."""
    runtimes: frozenset[str] = frozenset()
    """Packages in use that are told a device by CUDA's name or the CPU's, and know no other."""
    held_devices: Mapping[str, str] = field(default_factory=dict)
    """Modules that choose a device at their margin and work with a package that holds tensors on CUDA and the CPU alone: which."""
    works_with: str = ""
    """A package that holds tensors on CUDA and the CPU alone, which so many modules import that every device of the tree is for it."""
    staying: frozenset[str] = frozenset()
    """Functions and classes that go on naming CUDA with ``--target accelerator``."""
    staying_uses: frozenset[str] = frozenset()
    """Imports that such functions and classes make of other modules."""
    switches: frozenset[str] = frozenset()
    """The switches for a GPU that they name: ``use_gpu``."""
    chooses: str = ""
    """A module that goes on naming CUDA and asks whether it is there: the last of them, by its path."""
    remains: str = ""
    """A module that goes on naming CUDA, whether it asks or not."""
    built_on: frozenset[str] = frozenset()
    """Packages that hold torch's tensors on CUDA and the CPU alone, and that a module of the tree cannot do without."""
    own_holders: frozenset[str] = frozenset()
    """Packages that hold torch's tensors on CUDA and the CPU alone, and that are the tree itself."""
    cuda_choosers: frozenset[str] = frozenset()
    """Functions that choose a device by asking whether there is CUDA, in a tree that works with such a package."""
    by_cuda_alone: frozenset[str] = frozenset()
    """Classes of the tree's own that have a method ``cuda`` and none ``to``."""
    held: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The functions and classes of files, as they are shown, that cannot part from others which take tensors to CUDA,
    and why in words."""
    held_open: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Those that cannot part from others which go on naming CUDA where they ask for it, and why; the empty name stands
    for all of a file."""
    inner_packages: frozenset[str] = frozenset()
    """Packages inside others that are called as folders of scripts or tests are: ``lib.tools``, ``lib.benchmarks``."""
    bring_tdev: frozenset[str] = frozenset()
    """Modules and packages that import tdev by themselves, once they are migrated, by their last names."""
    of_torch_cuda: frozenset[str] = frozenset()
    """Packages of the tree with a module, and not only a test or a script, that calls ``torch.cuda`` or imports tdev."""
    silent_modules: frozenset[str] = frozenset()
    """Classes with a ``forward`` that name no device in their methods, nor do those that they speak of; ``*``: all of the tree."""
    silent_functions: frozenset[str] = frozenset()
    """Functions at a margin that name no device, nor does what they call of the tree; none where nothing is compiled."""
    silent_makers: frozenset[str] = frozenset()
    """Those of them that call nothing which is not seen: what they return is made by torch's classes and the tree's."""
    own_compilers: frozenset[str] = frozenset()
    """Functions that have something compiled by TorchScript, and that no other file speaks of."""
    device_choosers: frozenset[str] = frozenset()
    """Functions at a margin that ask for MPS's device, and give one."""
    mocked: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The modules in which a test puts a mock in the place of torch, and the names of torch's that it gives an answer or asserts."""
    put_in_place: frozenset[str] = frozenset()
    """Packages of which a file puts something else among the modules: ``sys.modules["apex"] = Mock()``."""
    tries_torch: bool = False
    """Whether a module of the tree tries to import torch at its margin, and does something else where there is none."""
    uses_ray: bool = False
    """Whether a module of the tree imports Ray."""
    imported_tests: frozenset[str] = frozenset()
    """What imports name that is called as modules of tests are: nobody reads the margins of the others."""
    ask_backends: bool = False
    """Whether a file asks a process group for its backend."""
    scripted: frozenset[str] = frozenset()
    """Functions that a file takes from another one and calls, in which a decorator compiles something by TorchScript."""
    run_on_others: frozenset[str] = frozenset()
    """Packages that run on accelerators which tdev does not know, as several of their modules show: XPU, NPU."""
    know_mps: frozenset[str] = frozenset()
    """Packages of the tree with a module, and not only a test, that asks for MPS or makes a device of it."""
    names_cuda: frozenset[str] = frozenset()
    """Packages of the tree with a module, and not only a test, that names CUDA."""
    cuda_alone: frozenset[str] = frozenset()
    """Functions that say CUDA in their name, and that one file of the tree names alone."""
    cudas_questions: frozenset[str] = frozenset()
    """Functions that go on giving a true answer on CUDA alone, whoever asks."""
    cudas_decorators: frozenset[str] = frozenset()
    """Functions that let a test run where such a question says yes alone."""
    cudas_classes: frozenset[str] = frozenset()
    """Classes of CUDA's modules beside those of other accelerators, of which no object can be made without CUDA."""
    unable: Mapping[str, str] = field(default_factory=dict)
    """Functions and classes at a margin that work on CUDA and the CPU alone by what they say, and those that speak of one; and whose
    device is to blame for it.
    """
    handing: Handing = field(default_factory=Handing)
    """What hands a device on to a package beside the tree."""
    set_on_others: Mapping[str, int] = field(default_factory=dict)
    """Attributes, and variables of modules, that are set on something else than ``self``, and by how many files."""
    private_of_others: Mapping[str, int] = field(default_factory=dict)
    """Private names that are imported, or taken from something else than ``self``, and by how many files."""
    of_families: frozenset[str] = frozenset()
    """``Class.name`` of what heirs in other files set, replace or call, and of what bases there set."""
    needs_cuda: Mapping[str, str] = field(default_factory=dict)
    """Files, as they are shown, that import a module which cannot be imported without CUDA, and why in words."""
    only_on_cuda: frozenset[str] = frozenset()
    """Modules that cannot be imported without CUDA, or that only CUDA reaches, by their dotted names."""
    behind_cuda: Mapping[str, str] = field(default_factory=dict)
    """Files, as they are shown, that only CUDA reaches, and why in words."""


@dataclass(frozen=True)
class Sections:
    """The parts that a project's imports are sorted into, each by its name without case and dashes."""

    order: tuple[str, ...]
    known: tuple[tuple[str, str], ...]
    """The section of each module that the settings name, which may be a pattern."""
    default: str
    close: frozenset[str] = frozenset()
    """Those with no empty line before them."""
    together: bool = False
    """Whether ``import x`` and ``from x import y`` are sorted among each other."""

    def of(self, module: str, own: Collection[str] = ()) -> str:
        """Return the section of a module; ``own`` are the packages of the project."""
        if module.startswith("."):
            return "localfolder"
        parts = module.split(".")
        for length in range(len(parts), 0, -1):
            name = ".".join(parts[:length])
            for pattern, section in self.known:
                if fnmatchcase(name, pattern):
                    return section
        if parts[0] in sys.stdlib_module_names:  # which has `__future__` as well
            return "future" if parts[0] == "__future__" else "stdlib"
        return "firstparty" if parts[0] in own else self.default


@dataclass(frozen=True)
class Options:
    """The way to rewrite: the style of the result, and whether findings leave comments.

    ``style="accelerator"`` is ``--target accelerator``: upstream's generic APIs, no tdev.
    ``annotate`` adds ``# tdev: <rule>: <message>`` after each line that has an error or a
    warning; a line that carries such a comment already is left alone.
    """

    style: Style = "explicit"
    annotate: bool = False
    docs: bool = False
    """Whether examples in docstrings are looked at, too."""
    all: bool = False
    """Whether to rewrite files too that cannot be imported without CUDA."""
    test: bool = False
    """Whether the file is one of a project's tests, of which nothing changes but what it patches."""
    keep: tuple[str, ...] = ()
    """Words of a comment on a line that stays, besides ``tdev: keep``, ``ignore-cuda`` and ``noqa: CUDA``."""
    lines: frozenset[int] = frozenset()
    """Lines, from 1, that stay as if they had such a comment."""
    beside: str = ""
    """Text that runs with the source's names and is not in it: a notebook's magics."""
    program: bool = False
    """Whether the text is that of a program which was started to run (``tdev run``)."""
    answered: frozenset[str] = frozenset()
    """Packages for CUDA that something else answers for where it runs: who imports them does not need CUDA."""
    line_length: int = 0
    """Columns that a line of this file may have; 0 where its project does not say."""
    sections: Sections | None = None
    """The sections of the project's imports, where tdev goes to another one than torch."""
    typed: bool = False
    """Whether the project is type-checked, which ``--target accelerator`` asks."""
    floor: tuple[tuple[int, int], str] | None = None
    """The oldest torch that the project says it takes, and the file that says so."""
    tree: ProgramTree | None = None
    """The files around this one, where they are known."""


@dataclass(frozen=True)
class Replacement:
    """A generic spelling of one ``torch.cuda`` name.

    ``parameters`` maps the parameters of the ``torch.cuda`` function to those of the
    replacement: a name, ``"/0"`` for a positional-only parameter at that position, or
    ``None`` for one the replacement does not have (a call that passes it is reported).
    """

    name: str
    parameters: Mapping[str, str | None] = field(default_factory=dict)
    order: tuple[str, ...] = ()


@dataclass(frozen=True)
class Names:
    """Facts about torch, given in so that the engine needs no torch.

    Dotted names are the public ones (``torch.cuda.synchronize``). A position of ``None``
    means keyword-only; positions of methods do not count ``self``.
    """

    routed: frozenset[str]
    device_params: Mapping[str, Parameters]
    device_methods: Mapping[str, Parameters]
    classes: frozenset[str]
    accelerator: Mapping[str, Replacement]
    modules: frozenset[str]
    version: str = ""

    @classmethod
    def load(cls, path: str | Path | None = None) -> Names:
        """Read a names file; without a path, the one shipped beside the engine.

        Raises ``ValueError`` with the file and the entry for a file of another shape.
        """
        where = Path(path) if path is not None else Path(__file__).with_name("names.json")
        return _load(where)


@dataclass(frozen=True)
class Edit:
    """One replaced span: ``before`` stood there, ``after`` does now."""

    rule: str
    line: int
    column: int
    end_line: int
    end_column: int
    before: str
    after: str
    why: str = ""
    """Why a name that does not speak of CUDA is tdev's now."""


@dataclass(frozen=True)
class Finding:
    """Something a person has to look at.

    ``severity``: ``error`` for what no backend but CUDA can do, ``warning`` for what the
    engine cannot decide, ``note`` for what it left alone on purpose. ``unknown`` tells that the
    file does not say what the object is that is asked here, so that only its run can answer
    (``x.is_cuda``); ``whole`` that it is about the file, and not about what stands at its place.
    """

    rule: str
    line: int
    column: int
    message: str
    severity: Severity
    unknown: bool = False
    whole: bool = False


@dataclass(frozen=True)
class Result:
    """The new text of one file, how it came about, and what is left for a person."""

    code: str
    edits: tuple[Edit, ...] = ()
    findings: tuple[Finding, ...] = ()
    statements: tuple[int, ...] = field(default=(), compare=False, repr=False)
    """The offsets at which an outermost statement of the old text starts a line; empty if unknown."""
    resting: tuple[tuple[int, int], ...] = ()
    """Lines and columns of what no edit touches and is right only once the file's imports are edited."""


@dataclass(frozen=True)
class Rule:
    """A rule's identity and its words; ``doc`` is what the rule's page says."""

    id: str
    title: str
    doc: str
    severity: Severity | None
    """The severity of its findings; None for a rule that only edits."""


class SyntaxError_(ValueError):
    """The source is not Python 3 as libcst knows it; ``line`` and ``column`` are 1-based."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


class WholeTextNeeded(Exception):
    """A rule asks about text that was left out before the file was parsed."""


@lru_cache(maxsize=4)
def _load(path: Path) -> Names:
    data = json.loads(path.read_text(encoding="utf-8"))
    wanted = {f for f in Names.__dataclass_fields__}
    if not isinstance(data, dict) or set(data) != wanted:
        raise ValueError(f"{path}: a names file has the keys {sorted(wanted)}")
    try:
        return Names(
            routed=frozenset(data["routed"]),
            device_params=_parameters(data["device_params"]),
            device_methods=_parameters(data["device_methods"]),
            classes=frozenset(data["classes"]),
            accelerator={
                key: Replacement(v["name"], dict(v["parameters"]), tuple(v["order"]))
                for key, v in data["accelerator"].items()
            },
            modules=frozenset(data["modules"]),
            version=data["version"],
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: not a names file: {error!r}") from error


def _parameters(data: dict[str, list[list[object]]]) -> dict[str, Parameters]:
    return {
        key: tuple((str(name), at if isinstance(at, int) else None) for name, at in pairs)
        for key, pairs in data.items()
    }
