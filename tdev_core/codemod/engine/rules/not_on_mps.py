"""Reports what an accelerator without CUDA's words, or without its double precision, answers otherwise: no edit mends it."""

from __future__ import annotations

import ast
import re

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.rules.kernels import KERNEL
from tdev_core.codemod.engine.rules.other_runtimes import holder_beside
from tdev_core.codemod.engine.rules.speaks_of_others import knows_mps
from tdev_core.codemod.engine.rules.strings import STRINGS
from tdev_core.codemod.engine.survey import is_of_cuda
from tdev_core.codemod.engine.vocabulary import DOUBLE, MADE_DOUBLE

_OUT_OF_MEMORY = re.compile(r"cuda (?:error: )?out of memory", re.IGNORECASE)
_ON_MPS = "mps backend out of memory"
_LOOKS = frozenset({"startswith", "endswith", "search", "match", "find", "count"})
LOOKED_FOR = (
    'is looked for in an error: MPS says "MPS backend out of memory", and it is not caught there'
)
_PLACES = re.compile(r"\bdevice\b|\.cuda\(")
_WHERE = re.compile(r"\bdevice\b|[\"']cuda")
_FETCHED = re.compile(r"\.(?:cpu|numpy|tolist|item)\(|\bcpu\b")
NO_DOUBLES = "a tensor on MPS has no double precision: this is a TypeError there"


def not_on_mps(file: File) -> None:
    """Report handlers that look for the words of CUDA's allocator, and tensors of a device that become doubles."""
    if file.options.program:
        return
    _chosen_elsewhere(file)
    if "out of memory" in file.tree.source:
        _words_of_memory(file)
    if any(each.search(file.code) is not None for each in (DOUBLE, MADE_DOUBLE)):
        _doubles(file)


def _chosen_elsewhere(file: File) -> None:
    """Report what a function of another file chooses for a package that knows CUDA and the CPU alone: it may be MPS from now on."""
    names = file.options.tree.cuda_choosers if file.options.tree is not None else frozenset()
    if not names or not (holder := holder_beside(file, file.tree.module)):
        return
    called = re.compile(rf"(?<![\w.])(?<!def )({'|'.join(sorted(names))})\(")
    own = {found[1] for found in _DEFINES.finditer(file.code)}
    for found in called.finditer(file.code):
        if found[1] not in own and not _stays(file, found.start()):
            said = f"{found[1]} may give MPS, which {holder} does not know: the CPU has to be asked for there"
            file.find_at(KERNEL, found.start(), said, "warning")


_DEFINES = re.compile(r"^def[ \t]+(\w+)", re.MULTILINE)


def _words_of_memory(file: File) -> None:
    tree = file.python
    if tree is None or any(_ON_MPS in text.lower() for _, _, text in file.texts):
        return
    for low, high, text in file.texts:
        if _OUT_OF_MEMORY.search(text) is not None and _is_looked_for(tree, tree.at((low, high))):
            if not _stays(file, low):
                file.find_at(STRINGS, low, f'"{text}" {LOOKED_FOR}', "note")


def _stays(file: File, at: int) -> bool:
    """Tell whether only CUDA comes there."""
    return any(low <= at < high for low, high in file.untouched)


def _is_looked_for(tree: PythonTree, node: ast.AST | None) -> bool:
    """Tell whether a text is looked for in another one: by itself, or as one of several."""
    if node is None:
        return False
    for parent in tree.ancestors(node):
        match parent:
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()]):
                return left is node
            case ast.Call(func=ast.Attribute(attr=attr)):
                return attr in _LOOKS
            case ast.comprehension():
                return True
            case ast.List() | ast.Tuple() | ast.Set():
                continue
            case _:
                return False
    return False


def _doubles(file: File) -> None:
    """Report the first of each function that is made of what the function has placed on a device, unless that is chosen for it and stays.

    In a package that names CUDA also of what may lie there: what a function is given, and what torch makes of it.
    """
    tree = file.python
    if tree is None or any("double precision" in f.message for f in file.findings.values()):
        return
    unable = file.options.tree.unable if file.options.tree is not None else {}
    if knows_mps(file):
        return
    given = is_of_cuda(file.options.tree, file.filename)
    for function in tree.statements:
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        text = file.tree.source[slice(*tree.span(function))]
        made = given and "device" in text and MADE_DOUBLE.search(text) is not None
        if function.name in unable or not (made or DOUBLE.search(text)):
            continue
        places = _PLACES.search(text) is not None
        if not (places or given and _OF_DATA.match(function.name) is None):
            continue
        placed = _placed_in(function) if places else set()
        origins = _Origins(tree, function)
        for call in ast.walk(function):
            if made and isinstance(call, ast.Call) and _is_made_double(call):
                at = tree.span(call)[0]
                if not _stays(file, at):
                    file.find_at(KERNEL, at, NO_DOUBLES, "note")
                    break
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                if DOUBLE.fullmatch(ast.unparse(call)[len(ast.unparse(call.func.value)) :]):
                    value = call.func.value
                    at = tree.span(value)[1]
                    found = _is_placed(value, placed) or given and origins.may_lie_there(call)
                    if found and not _stays(file, at):
                        file.find_at(KERNEL, at + 1, NO_DOUBLES, "note")
                        break


# Who makes data ready does so on the CPU.
_OF_DATA = re.compile(r"__getitem__\Z|_*(?:collate|load|read|save|write|parse|preprocess)")
_MODULE = re.compile(
    r"(?:\A|_)(?:self|cls|net|network|model|module|layer|\w*coder|policy|actor|critic|m)\d*\Z",
    re.IGNORECASE,
)
_ON_THE_CPU = re.compile(r"\.cpu\(|\.numpy\(|\bnp\.|\bnumpy\b|from_numpy|[\"']cpu[\"']")
_MAKES = frozenset(
    "tensor as_tensor from_numpy zeros ones empty full eye arange linspace rand randn randint load".split()
)


class _Origins:
    """Tells of the values of a function what they are made of, by what the function says."""

    def __init__(self, tree: PythonTree, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._tree = tree
        arguments = function.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        self._given = {each.arg: each.annotation for each in every}
        self._made: dict[str, list[ast.expr]] = {}
        parts = list(ast.walk(function))
        targets = set()
        for part in parts:
            if isinstance(part, ast.Assign) and len(part.targets) == 1:
                if isinstance(target := part.targets[0], ast.Name):
                    self._made.setdefault(target.id, []).append(part.value)
                    targets.add(target)
        names = (part for part in parts if isinstance(part, ast.Name) and part not in targets)
        self._bound = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        self._told: dict[str, bool] = {}

    def may_lie_there(self, call: ast.Call) -> bool:
        """Tell whether what is made double is a tensor of whoever calls the function, or torch makes it of one."""
        if not isinstance(call.func, ast.Attribute):
            return False
        # A module's own method changes it where it is.
        if isinstance(next(self._tree.ancestors(call), None), ast.Expr):
            return False
        return self._is_there(call.func.value)

    def _is_there(self, node: ast.expr) -> bool:
        if _ON_THE_CPU.search(ast.unparse(node)) is not None:
            return False
        match node:
            case ast.Name(id=name):
                return self._is_named_there(name)
            case ast.Subscript(value=value) | ast.UnaryOp(operand=value):
                return self._is_there(value)
            case ast.BinOp(left=left, right=right):
                return self._is_there(left) or self._is_there(right)
            case ast.Attribute(value=ast.Name(id="self"), attr=attr):
                return _MODULE.search(attr) is None
            case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=made), args=args):
                return made not in _MAKES and any(self._is_there(each) for each in args)
            case ast.Call(func=ast.Attribute(value=value)):
                return self._is_there(value)
            case _:
                return False

    def _is_named_there(self, name: str) -> bool:
        if name not in self._told:
            self._told[name] = False  # as long as it is looked for
            self._told[name] = self._is_made_there(name)
        return self._told[name]

    def _is_made_there(self, name: str) -> bool:
        if name in self._bound or _MODULE.search(name) is not None:
            return False
        if name in self._made:
            return all(map(self._is_there, self._made[name]))
        if name not in self._given:
            return False
        annotation = self._given[name]
        return annotation is None or "Tensor" in ast.unparse(annotation)


def _is_made_double(call: ast.Call) -> bool:
    """Tell whether a call makes something double where its caller, or the object, has its device: not where a tensor lies."""
    named = {each.arg: ast.unparse(each.value) for each in call.keywords}
    if MADE_DOUBLE.match(f"dtype={named.get('dtype')}") is None:
        return False
    return _OF_A_CALLER.fullmatch(named.get("device", "")) is not None


_OF_A_CALLER = re.compile(r"(?:self\.|args\.|\w*config\.)?_?(?:\w+_)?device")


def _placed_in(function: ast.AST) -> set[str]:
    """Return the variables and attributes that a function gives what it places on a device."""
    return {
        ast.unparse(target)
        for part in ast.walk(function)
        if isinstance(part, ast.Assign) and _is_placed(part.value, set())
        for target in part.targets
        if isinstance(target, (ast.Name, ast.Attribute))
    }


def _is_placed(node: ast.AST, placed: set[str]) -> bool:
    """Tell whether something is made or moved to what is called a device, or CUDA, or is made of what was; not what comes from there."""
    if _FETCHED.search(ast.unparse(node)) is not None:
        return False
    for part in ast.walk(node):
        match part:
            case ast.keyword(arg="device", value=value):
                if _WHERE.search(ast.unparse(value)) is not None:
                    return True
            case ast.Call(func=ast.Attribute(attr="cuda"), args=[]):
                return True
            case ast.Call(func=ast.Attribute(attr="to"), args=[where, *_]):
                if _WHERE.search(ast.unparse(where)) is not None:
                    return True
            case ast.Name() | ast.Attribute():
                if ast.unparse(part) in placed:
                    return True
            case _:
                pass
    return False
