"""Holds the devices that other files tell of."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from tdev_core.codemod.engine.api import ProgramTree
from tdev_core.codemod.engine.asked import Asked
from tdev_core.codemod.engine.vocabulary import SETTINGS_CLASS, TENSOR_WORD, snake


def _nothing(_: Asked) -> bool:
    return False


def _real(_: str, __: str) -> bool:
    return True


@dataclass(frozen=True)
class Known:
    """The devices that other files tell of."""

    told: Callable[[Asked], bool] = _nothing
    """The answers of all files together; no where nobody has asked them."""
    inherits: Callable[[str, str], bool] = _real
    """Whether a base class in another file keeps a real device in an attribute; what comes from outside does."""
    words: frozenset[str] = frozenset()
    """``Class.attribute`` of each class whose base, in whatever file, holds a word in it."""
    promised: frozenset[str] = frozenset()
    """Functions that promise a ``torch.device``."""
    constants: frozenset[str] = frozenset()
    """Variables of modules that hold one wherever they are set."""
    lists: frozenset[str] = frozenset()
    """Those that hold a list of them, and that nothing else is put into."""
    spoken: Mapping[str, str] = field(default_factory=dict)
    """What classes and modules call devices by, by ``owner.NAME``: ``"cuda"`` of ``DeviceType.CUDA``."""
    modules: frozenset[str] = frozenset()
    """What an absolute import of the tree's own starts with."""
    of_families: frozenset[str] = frozenset()
    """``Class.name`` of what heirs in other files set, replace or call, and of what bases there set."""
    questions: frozenset[str] = frozenset()
    """Functions that go on giving a true answer on CUDA alone."""
    choices_stay: bool = False
    """Whether a question for CUDA that chooses beside other accelerators goes on meaning CUDA."""

    @classmethod
    def of(cls, tree: ProgramTree) -> Known:
        """Return what is known of a tree that has been surveyed."""
        told = tree.told_devices.__contains__
        return cls(
            told,
            words=tree.word_devices,
            promised=tree.give_devices,
            constants=tree.device_constants,
            spoken=tree.device_words,
            modules=tree.modules,
            of_families=tree.of_families,
            lists=tree.device_lists,
            questions=tree.cudas_questions,
            choices_stay=True,
        )

    def may_keep_a_word(self, owner: str, attr: str, text: str, source: str) -> bool:
        """Tell whether a text says of an object that it may be of a class of the tree that keeps a word in an attribute.

        Its annotation does, or who asks whether it is of that class. Where a file speaks of that class so does its name,
        ``chain`` of ``SerialChain``, and who asks whether there is such an attribute, which torch's own modules have not.
        ``text`` is what the object is used in, ``source`` the whole of that. What is taken out by a number, ``jobs[0]``, may
        be of any class, unless it is called as tensors are, or is an argument of a function.
        """
        if owner[-1:] == "]" and (item := _ITEM.fullmatch(owner)) is not None:
            named = item[1] == "args" or TENSOR_WORD.search(item[1]) is not None
            return not named and self.keeps_words(attr)
        classes = _spoken_of(self.words, attr, source) if self.words else ()
        return bool(classes) and _may_be_of(classes, owner, attr, text)

    def keeps_words(self, attr: str) -> bool:
        """Tell whether a class of the tree, and none of settings, keeps a word in an attribute."""
        return any(SETTINGS_CLASS.search(name) is None for name in _keeping(self.words, attr))

    def is_constant(self, name: str, imported_from: str) -> bool:
        """Tell whether an imported name is a constant of the tree; ``.`` for a relative import."""
        return name in self.constants and self.is_own(imported_from)

    def is_own(self, module: str) -> bool:
        """Tell whether an import is one of the tree's own; relative ones start with ``.``."""
        top = module.partition(".")[0]
        return not top or top in self.modules


# An item that is taken out by its number, and what it is taken from: `self.jobs[0]`.
_ITEM = re.compile(r"(?:[^\n]*\.)?(\w+)(?:\[[^\[\]]*\])*\[\s*-?\d+\s*\]")

# What leaves open of which class an object is: a module, or anything.
_SAYS_NO_MORE = re.compile(r"[\"']?(?:(?:torch\.)?nn\.)?(?:Module|Any|object)[\"']?")


# `SAE[Config]` keeps what an `SAE` keeps.
_MADE_FOR = re.compile(r"(?<=\w)(?<!Union)(?<!Optional)\[[\w.]+(?:\]|\Z)")


@lru_cache(maxsize=256)
def _may_be_of(classes: tuple[str, ...], owner: str, attr: str, text: str) -> bool:
    """Tell whether a text says of an object that it may be of one of these classes."""
    it, names = re.escape(owner), re.compile(rf"\b(?:{'|'.join(classes)})\b")
    # Both start with the object, which `re` looks for many times faster than for what stands before it.
    said = re.findall(rf"{it}(?<![\w.]{it})[ \t]*:([^=,)\n]+)", text)
    if any(names.search(_MADE_FOR.sub("", each)) for each in said):
        return True
    for asked in re.finditer(rf"{it}(?:\s*,|\s*\)\s*(?:is|==|in)\b)([^)\n]*)", text):
        before = text[max(0, asked.start() - 16) : asked.start()].rstrip()
        if before.endswith(("isinstance(", "type(")) and names.search(asked[1]) is not None:
            return True
    if any(_SAYS_NO_MORE.fullmatch(each.strip()) is None for each in said):
        return False
    classes = tuple(name for name in classes if SETTINGS_CLASS.search(name) is None)
    called = f"_{owner.rpartition('.')[2].strip('_').lower()}"
    return any(snake(name).endswith(called) for name in classes) or (
        bool(classes)
        and re.search(rf"\bhasattr\(\s*{it}\s*,\s*[\"']{attr}[\"']\s*\)", text) is not None
    )


@lru_cache(maxsize=64)  # a text is asked for each of its devices
def _spoken_of(words: frozenset[str], attr: str, source: str) -> tuple[str, ...]:
    """Return the classes that keep a word in an attribute and that a text speaks of."""
    return tuple(
        name
        for name in _keeping(words, attr)
        if name in source and re.search(rf"{name}(?<!\w{name})\b", source) is not None
    )


@lru_cache(maxsize=64)
def _keeping(words: frozenset[str], attr: str) -> tuple[str, ...]:
    end = f".{attr}"
    return tuple(sorted(word.removesuffix(end) for word in words if word.endswith(end)))
