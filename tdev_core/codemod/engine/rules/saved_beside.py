"""Tells what the file of a ``torch.load`` holds, by who saves it: no other machine has written it, and nothing of it lies on CUDA.

The class, or the file, that loads it saves it as well, and all that it saves there is numbers and texts, what has been taken to
the CPU, or what torch makes where nobody names a device. Or it lies beside the source, and its bytes are read.
"""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.statements import last_name, plain_parameters
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.rules.unknown_code import UnknownCode

_SAYS_DEVICE = re.compile(r"device|cuda|\.to\((?!torch\.|[\"']cpu[\"'])", re.IGNORECASE)
_DEPTH = 8

# What torch makes of anything on the CPU, and what gives a tensor that lies where the one does that it is called of.
_OF_THE_CPU = re.compile(
    r"torch\.(?:from_numpy|frombuffer|(?:Byte|Char|Short|Int|Long|Half|Float|Double|Bool|BFloat16)Tensor)"
)
_WHERE_IT_LIES = frozenset(
    "view reshape flatten squeeze unsqueeze transpose permute t contiguous clone detach long int float double half bool".split()
)
_OVER_PROCESSES = re.compile(r"range\((?:[\w.]*world_size|[\w.]*get_world_size\(\))\)")
_IS_A_DTYPE = re.compile(
    r"(?:torch\.)?(?:float|double|half|int|long|short|bool|u?int\d+|b?float\d+)|[\"']cpu[\"']"
)
_OF_DATA_SETS = frozenset({"collate", "pre_filter", "pre_transform"})
"""What PyTorch Geometric's data sets, and those like them, call on the graphs that they have made."""
_NO_TENSORS = frozenset({"str", "repr", "len", "int", "float", "bool"})
Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def is_saved_beside(file: File, call: cst.CSTNode) -> bool:
    """Tell whether what a call loads has been saved by its own class or file, and lies on no accelerator."""
    if not isinstance(call, cst.Call) or not call.args or (tree := file.python) is None:
        return False
    found = tree.at(file.tree.span(call))
    if not isinstance(found, ast.Call) or not found.args:
        return False
    if (shipped := _beside_the_source(file, tree, found)) is not None:
        return shipped
    if _TRAINERS in file.code and _is_of_a_trainers_arguments(tree, found.args[0]):
        return True
    if ".numpy()" in file.code and _goes_to_numpy(tree, found):
        return True
    if _is_of_a_data_set(tree, found):
        return True
    # Of a file that does little else, all is asked of all.
    saves = 0 < file.code.count("save(") <= _MOST
    return saves and _Saved(tree, found, _SAYS_DEVICE.search(file.code) is None).by_no_accelerator()


_DATA_SET = re.compile(r"\w*(?:Data[sS]et|DataPipe)\w*\Z")


def _is_of_a_data_set(tree: PythonTree, call: ast.Call) -> bool:
    """Tell whether a data set that names no device loads its own data: loaders ask it in processes of theirs, on the CPU."""
    owner = next((p for p in tree.ancestors(call) if isinstance(p, ast.ClassDef)), None)
    if owner is None or not any(_DATA_SET.match(last_name(base)) for base in owner.bases):
        return False
    methods = {each.name for each in owner.body if isinstance(each, _FUNCTIONS)}
    # Whose `process` makes the data itself, by whatever it calls, is judged by that.
    asked = "process" not in methods and not methods.isdisjoint(("__getitem__", "__iter__"))
    return asked and _SAYS_DEVICE.search(tree.source(owner)) is None


def _goes_to_numpy(tree: PythonTree, call: ast.Call) -> bool:
    """Tell whether NumPy takes what is loaded as it is, in the same function: ``data = torch.load(path)``, ``data["x"].numpy()``.

    It takes nothing that lies on CUDA, and what goes anywhere else would be the program's own.
    """
    home = _function(tree, call)
    match next(tree.ancestors(call), None):
        case ast.Assign(targets=[ast.Name(id=name) as target]) if home is not None:
            pass
        case _:
            return False
    uses = [node for node in ast.walk(home) if isinstance(node, ast.Name) and node.id == name]
    ways = {_way(tree, node) for node in uses if node is not target}
    return "numpy" in ways and ways <= {"numpy", "asks"}


def _way(tree: PythonTree, node: ast.Name) -> str:
    """Tell what a use does: it gives ``numpy`` all of it or a part, ``asks`` what it is or has, or lets it go anywhere else."""
    below: ast.AST = node
    for parent in tree.ancestors(node) if isinstance(node.ctx, ast.Load) else ():
        match parent:
            case ast.Attribute(attr="cpu" | "to" | "cuda"):
                return "goes"
            case ast.Call(func=ast.Attribute(attr="numpy" | "keys" as way) as func) if (
                func is below
            ):
                return "numpy" if way == "numpy" else "asks"
            case ast.Call(func=func) if func is not below:
                asks = ("is_tensor", "isinstance", "type", "len")
                return "asks" if last_name(func) in asks else "goes"
            case ast.Attribute() | ast.Call():
                pass
            case ast.Subscript(value=value) if value is below:
                pass
            case _:
                return "goes"
        below = parent
    return "goes"


_TRAINERS = "training_args.bin"
"""Where transformers' Trainer, and what was written after it, saves the options of a run: words and numbers."""


def _is_of_a_trainers_arguments(tree: PythonTree, path: ast.expr) -> bool:
    """Tell whether a path ends with that name: ``os.path.join(folder, "training_args.bin")``, ``folder + "/training_args.bin"``."""
    match _resolved(tree, path):
        case ast.Constant(value=str(text)):
            return text.rpartition("/")[2] == _TRAINERS
        case ast.JoinedStr(values=[*_, last]) | ast.BinOp(right=last):
            return _is_of_a_trainers_arguments(tree, last)
        case ast.Call(func=ast.Attribute(attr="join" | "joinpath"), args=[*_, last]):
            return _is_of_a_trainers_arguments(tree, last)
        case _:
            return False


def _beside_the_source(file: File, tree: PythonTree, call: ast.Call) -> bool | None:
    """Tell whether a file that lies where the source does names no CUDA; None where there is none."""
    if (lies := _from_the_source(tree, call.args[0], Path(file.filename))) is None:
        return None
    try:
        if not lies.is_file() or lies.stat().st_size > _LARGEST:
            return None
        content = lies.read_bytes()
    except (OSError, ValueError):
        return None
    # Git may keep a pointer to it there instead.
    return b"cuda" not in content if content.startswith(_STARTS) else None


def _from_the_source(
    tree: PythonTree, path: ast.expr, source: Path, told: frozenset[str] = frozenset()
) -> Path | None:
    """Return where a path leads that is told from ``__file__``, which is ``source``; None for another."""
    match _resolved(tree, path):
        case ast.Name(id="__file__"):
            return source
        case ast.Name(id=name) if name not in told:
            of_module = [
                each.value
                for each in tree.module.body
                if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == name
            ]
            return (
                _from_the_source(tree, of_module[0], source, told | {name})
                if len(of_module) == 1
                else None
            )
        case ast.Attribute(value=inner, attr="parent"):
            below = _from_the_source(tree, inner, source, told)
            return below.parent if below is not None else None
        case ast.BinOp(left=left, op=ast.Div() | ast.Add(), right=ast.Constant(value=str(part))):
            return _joined(_from_the_source(tree, left, source, told), [part.lstrip("/")])
        case ast.JoinedStr(values=[ast.FormattedValue(value=left), ast.Constant(value=str(part))]):
            return _joined(_from_the_source(tree, left, source, told), [part.lstrip("/")])
        case ast.Call(
            func=ast.Attribute(value=inner, attr="with_name"), args=[ast.Constant(value=str(part))]
        ):
            below = _from_the_source(tree, inner, source, told)
            return _joined(below.parent if below is not None else None, [part])
        case ast.Call(func=func, args=[inner, *rest]):
            parts = [each.value for each in rest if isinstance(each, ast.Constant)]
            last, owner = last_name(func), getattr(func, "value", None)
            if last == "joinpath" and owner is not None:
                inner, parts = owner, [getattr(inner, "value", None), *parts]
            texts = [each for each in parts if isinstance(each, str)]
            below = _from_the_source(tree, inner, source, told)
            if below is None or len(texts) != len(rest) + (last == "joinpath"):
                return None
            return below.parent if last == "dirname" else below.joinpath(*texts)
        case ast.Call(func=ast.Attribute(value=inner), args=[]):
            return _from_the_source(tree, inner, source, told)  # `Path(__file__).resolve()`
        case _:
            return None


def _joined(folder: Path | None, parts: list[str]) -> Path | None:
    return folder.joinpath(*parts) if folder is not None else None


_MOST = 50
"""The calls in a file that save something, beyond which none is looked into."""
_LARGEST = 64 << 20
_SAVES = ("save", "torch_save")
_FILLS = frozenset("append add extend insert setdefault update".split())
"""The methods of lists, sets and dictionaries whose last argument they hold from then on."""
_STARTS = (b"PK", b"\x80")
"""What begins the two forms in which torch saves: a ZIP archive, which compresses nothing, and a pickle."""


def saves_what_it_loads(tree: PythonTree, call: ast.Call, saving: ast.Call) -> bool:
    """Tell whether a variable that a load gives its value is saved later on: ``weight = load(path)``, ``save(weight, path)``."""
    stands = next((p for p in tree.ancestors(call) if isinstance(p, ast.stmt)), None)
    if saving.lineno <= call.lineno or not isinstance(stands, (ast.Assign, ast.AnnAssign)):
        return False
    targets = stands.targets if isinstance(stands, ast.Assign) else [stands.target]
    loaded = {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    return any(isinstance(n, ast.Name) and n.id in loaded for n in ast.walk(saving.args[0]))


def _function(tree: PythonTree, node: ast.AST) -> Function | None:
    return next((p for p in tree.ancestors(node) if isinstance(p, Function)), None)


def _resolved(tree: PythonTree, value: ast.expr) -> ast.expr:
    """Return what a variable holds where it stands: what it was given last, whatever else happens, in its function.

    Or what a ``with`` around it has opened by that name.
    """
    while isinstance(value, ast.Call) and ast.unparse(value.func) in ("str", "Path") and value.args:
        value = value.args[0]
    around = list(tree.ancestors(value)) if isinstance(value, ast.Name) else []
    home = next((p for p in around if isinstance(p, Function)), None)
    if not isinstance(value, ast.Name) or home is None:
        return value
    for opened in around[: around.index(home)]:
        for item in opened.items if isinstance(opened, (ast.With, ast.AsyncWith)) else ():
            if isinstance(item.optional_vars, ast.Name) and item.optional_vars.id == value.id:
                return item.context_expr
    given = [
        n
        for n in ast.walk(home)
        if isinstance(n, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == value.id for t in n.targets)
        and (n.end_lineno or n.lineno) < value.lineno
    ]
    last = max(given, key=lambda n: n.lineno, default=None)
    if last is None or next(tree.ancestors(last)) not in around:
        return value
    return _resolved(tree, last.value)


def _items_of(loop: ast.For, name: str) -> ast.expr | None:
    """Return what a loop takes the values of one of its variables from: of ``for a, b in zip(x, y)`` one of them."""
    match loop.target, loop.iter:
        case ast.Name(), items:
            return items
        case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=args):
            given = zip(targets, args, strict=False)
            return next((a for t, a in given if isinstance(t, ast.Name) and t.id == name), None)
        case _:
            return None


def _may_be_one(one: str, other: str) -> bool:
    """Tell whether two names of files may be the same: ``self.folder/*_set`` and ``self.folder/test_set``."""
    if one == other:
        return True
    (folder, _, name), (beside, _, also) = (
        each.rpartition("/") if each.startswith("self.") else ("", "", each)
        for each in (one, other)
    )
    if folder and beside:
        return folder == beside and (fnmatchcase(name, also) or fnmatchcase(also, name))
    return name == also and "*" not in name


class _Saved:
    """The values that a class, or a file without classes, saves under the name of what it loads.

    ``silent``: nothing in the file names a device.
    """

    def __init__(self, tree: PythonTree, call: ast.Call, silent: bool) -> None:
        self._tree = tree
        self._call = call
        self._silent = silent
        around = list(tree.ancestors(call))
        owner = next((p for p in around if isinstance(p, ast.ClassDef)), None)
        self._owner: ast.AST = tree.module if silent or owner is None else owner
        self._parts = tree.everything if self._owner is tree.module else [*ast.walk(self._owner)]
        self._methods = {n.name: n for n in self._parts if isinstance(n, _FUNCTIONS)}
        self._classes = {n.name for n in tree.statements if isinstance(n, ast.ClassDef)}
        self._asked: set[object] = set()

    @cached_property
    def _unknown(self) -> UnknownCode:
        return UnknownCode(self._tree, self._owner)

    def by_no_accelerator(self) -> bool:
        """Tell whether all that it loads has been saved by its owner, and lies on none."""
        own = _function(self._tree, self._call)
        names = self._names(self._call.args[0], own)
        left = set(names)
        values: list[tuple[ast.expr, Function | None]] = []
        for saving in self._parts:
            if not isinstance(saving, ast.Call) or len(saving.args) < 2:
                continue
            # To write a name out takes many times as long as to look at its last part.
            if getattr(saving.func, "attr", getattr(saving.func, "id", "")) not in _SAVES:
                continue
            if not re.search(r"\b(?:torch\.(?:jit\.)?|torch_)save\Z", ast.unparse(saving.func)):
                continue
            home = _function(self._tree, saving)
            if (
                home is not None
                and home is own
                and saves_what_it_loads(self._tree, self._call, saving)
            ):
                continue  # it writes over what somebody else may have saved
            here = self._names(saving.args[1], home)
            if self._is_just_before(saving):
                return True
            same = {name for name in names if any(_may_be_one(name, each) for each in here)}
            left -= same
            if same and not self._is_a_data_sets(home):
                values.append((saving.args[0], home))
        # All that it may be has been saved here.
        return bool(names) and not left and all(self._on_the_cpu(*each) for each in values)

    def _is_a_data_sets(self, home: Function | None) -> bool:
        """Tell whether a data set prepares its own files there, of nothing that it is given, and nothing that it does there names a device."""
        if home is None or len(plain_parameters(home)) != 1:
            return False
        owner = next((p for p in self._tree.ancestors(home) if isinstance(p, ast.ClassDef)), None)
        bases = owner.bases if owner is not None else []
        if not any("dataset" in last_name(base).lower() for base in bases):
            return False
        return not self._may_be_elsewhere(home, set())

    def _may_be_elsewhere(
        self, home: Function | ast.ClassDef, asked: set[Function | ast.ClassDef]
    ) -> bool:
        """Tell whether a function, or one of the file that it calls, may take something to an accelerator.

        By a device that it names or is told, by an object of its class that it calls, which may be a model, or by code that
        is not seen.
        """
        asked.add(home)
        if self._unknown.calls_some(home):
            return True
        for node in ast.walk(home):
            match node:
                case ast.Attribute(attr="device" | "cuda") | ast.keyword(arg="device"):
                    return True
                case ast.Constant(value=str(text)) if text.startswith("cuda"):
                    return True
                case ast.Call(func=ast.Attribute(attr="to"), args=args) if not all(
                    _IS_A_DTYPE.fullmatch(ast.unparse(each)) for each in args
                ):
                    return True
                case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=attr)):
                    called: ast.stmt | None = self._methods.get(attr)
                    # Of a base class, or a model that it keeps.
                    is_known = attr in _OF_DATA_SETS
                    is_known = is_known or self._silent and not self._unknown.gives(attr)
                    if called is None and not is_known:
                        return True
                case ast.Call(func=ast.Name(id=name)):
                    called = self._tree.names[1].get(name)
                case _:
                    continue
            if isinstance(called, (*_FUNCTIONS, ast.ClassDef)) and called not in asked:
                if self._may_be_elsewhere(called, asked):
                    return True
        return False

    def _is_just_before(self, saving: ast.Call) -> bool:
        """Tell whether the function itself has saved the file by then, whatever else happens: on this machine."""
        around = list(self._tree.ancestors(self._call))
        stands = next(p for p in self._tree.ancestors(saving) if isinstance(p, ast.stmt))
        blocks = self._tree.ancestors(stands)
        block = next((p for p in blocks if not isinstance(p, (ast.With, ast.AsyncWith))), None)
        return (
            saving.lineno < self._call.lineno
            and isinstance(block, (*_FUNCTIONS, ast.If, ast.For))
            and block in around
            and self._is_one_file(saving.args[1], self._call.args[0])
        )

    def _is_one_file(self, saved: ast.expr, loaded: ast.expr) -> bool:
        """Tell whether two paths are one, or those of a run's processes, each of which has saved its own: ``f"{rank}.pt"``."""
        one, other = _resolved(self._tree, saved), _resolved(self._tree, loaded)
        if one is other:
            return ast.unparse(saved) == ast.unparse(loaded)
        counted = {
            each.target.id
            for each in self._tree.ancestors(self._call)
            if isinstance(each, ast.For)
            and isinstance(each.target, ast.Name)
            and _OVER_PROCESSES.fullmatch(ast.unparse(each.iter))
        }
        there = ast.unparse(other)
        return any(ast.unparse(one) == re.sub(rf"\b{name}\b", "rank", there) for name in counted)

    def _names(self, path: ast.expr, home: Function | None) -> set[str]:
        """Return what a path may end with: a text, an attribute that holds one, or the folder of all that it may name."""
        match _resolved(self._tree, path):
            case ast.Constant(value=str(text)):
                return {text}
            case ast.Call(func=ast.Name(id="open"), args=[inside, *_]):
                return self._names(inside, home)
            case ast.Call(func=ast.Attribute(attr="join"), args=[*_, last]):
                return self._names(last, home)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                folder, below = ast.unparse(left), _resolved(self._tree, right)
                if not folder.startswith("self."):
                    return self._names(right, home)
                if isinstance(below, ast.JoinedStr):
                    parts = (getattr(each, "value", "*") for each in below.values)
                    return {f"{folder}/{''.join(p if isinstance(p, str) else '*' for p in parts)}"}
                if isinstance(below, ast.Constant) and isinstance(below.value, str):
                    return {f"{folder}/{below.value}"}
                return self._names(right, home)
            case (
                ast.JoinedStr(values=[ast.FormattedValue(value=ast.Name(id=name)), *rest]) as text
            ) if home is not None and all(isinstance(each, ast.Constant) for each in rest):
                # `f"{split}.pt"` of each split that a loop has
                ends = "".join(str(each.value) for each in rest if isinstance(each, ast.Constant))
                starts = self._of_loop(name, home)
                return {f"{each}{ends}" for each in starts} or {f"{id(home)} {ast.unparse(text)}"}
            case ast.IfExp(body=body, orelse=orelse):
                return self._names(body, home) | self._names(orelse, home)
            case ast.Attribute() | ast.Subscript() as part if ast.unparse(part).startswith("self."):
                return {ast.unparse(part)}
            case ast.Attribute(value=settings, attr=attr) if self._takes_over(settings):
                return {f"self.{attr}"}
            case ast.Name(id=name) if home is not None:
                return self._of_loop(name, home) or {f"{home.name}: {name}"}
            case other:
                return {f"{id(home)} {ast.unparse(other)}"}

    def _takes_over(self, settings: ast.expr) -> bool:
        """Tell whether the class has every setting as an attribute: ``for key in config: setattr(self, key, config[key])``."""
        name = last_name(settings)
        for node in self._parts:
            match node:
                case ast.Call(
                    func=ast.Name(id="setattr"),
                    args=[
                        ast.Name(id="self"),
                        ast.Name(id=key),
                        ast.Subscript(value=taken, slice=ast.Name(id=again)),
                    ],
                ) if key == again and name and last_name(taken) == name:
                    return True
                case _:
                    pass
        return False

    def _of_loop(self, name: str, home: Function) -> set[str]:
        """Return what a loop gives its variable: each of a few names, or the files of a folder."""
        for loop in ast.walk(home):
            if not isinstance(loop, ast.For) or not any(
                isinstance(n, ast.Name) and n.id == name for n in ast.walk(loop.target)
            ):
                continue
            items = _items_of(loop, name)
            if isinstance(items, (ast.Tuple, ast.List)):
                # What each is made of in its turn is not followed: a loop may be over itself.
                return set().union(*(self._names(each, None) for each in items.elts))
            for part in ast.walk(loop.iter):
                if isinstance(part, ast.Name):
                    listed = re.fullmatch(
                        r"(?:\[\*|list\(|sorted\()?(self\.\w+)\.(?:r?glob|iterdir)\(.*\)[\])]?",
                        ast.unparse(_resolved(self._tree, part)),
                    )
                    if listed is not None:
                        return {f"{listed[1]}/*"}
        return set()

    def _on_the_cpu(self, value: ast.expr, home: Function | None, depth: int = _DEPTH) -> bool:
        """Tell whether a value holds no tensor, or one that has been taken to the CPU or made where none is named."""
        if depth == 0:
            return False
        below = depth - 1
        match _resolved(self._tree, value):
            case ast.Constant() | ast.JoinedStr() | ast.Compare():
                return True
            case ast.List(elts=[]) | ast.Dict(keys=[]) if isinstance(value, ast.Name):
                return self._is_bound_there(value.id, home, below)  # which is filled later
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                return all(self._on_the_cpu(part, home, below) for part in parts)
            case ast.Dict(values=parts):
                return all(self._on_the_cpu(part, home, below) for part in parts)
            case ast.ListComp(elt=part) | ast.DictComp(value=part) | ast.GeneratorExp(elt=part):
                return self._on_the_cpu(part, home, below)
            case ast.BinOp(left=left, right=right):
                return all(self._on_the_cpu(part, home, below) for part in (left, right))
            case ast.Subscript(value=part):
                return self._on_the_cpu(part, home, below)
            case ast.Call() as made:
                return self._is_made_there(made, home, below)
            case ast.Attribute(value=ast.Call(func=made)) if self._is_of_torchvision(made):
                return True
            case ast.Attribute() as kept if ast.unparse(kept).startswith("self."):
                return self._is_a_number(ast.unparse(kept))
            case ast.Name(id=name):
                return self._is_bound_there(name, home, below)
            case _:
                return False

    def _is_made_there(self, call: ast.Call, home: Function | None, depth: int) -> bool:
        func = ast.unparse(call.func)
        last = func.rpartition(".")[2]
        if last in ("cpu", "numpy", "item", "tolist") and not call.args:
            return True
        if last == "to":
            told = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "device")]
            return any(isinstance(t, ast.Constant) and t.value == "cpu" for t in told)
        if func in _NO_TENSORS or _OF_THE_CPU.fullmatch(func) or self._is_a_text(call.func):
            return True
        if isinstance(call.func, ast.Attribute) and last in _WHERE_IT_LIES:
            return self._on_the_cpu(call.func.value, home, depth)
        defined = self._tree.names[1].get(func)
        if isinstance(defined, Function) and defined not in self._asked:
            self._asked.add(defined)
            returned = [n.value for n in ast.walk(defined) if isinstance(n, ast.Return) and n.value]
            if returned and all(self._on_the_cpu(each, defined, depth) for each in returned):
                return True
        if re.fullmatch(r"torch\.(?:cat|concat|stack|[hv]stack)", func) and call.args:
            return self._on_the_cpu(call.args[0], home, depth)
        if not self._silent:
            return False
        if func in self._classes:
            return True
        if func.startswith(("torch.", "np.")):
            return all(self._on_the_cpu(a, home, depth) or last == "tensor" for a in call.args)
        if not func.startswith("self."):
            return False
        if (method := self._methods.get(last)) is None:
            # Of a base class: it gives what lies where its arguments lie.
            return any(self._on_the_cpu(each, home, depth) for each in call.args)
        if method in self._asked:
            return True
        self._asked.add(method)
        given = [n.value for n in ast.walk(method) if isinstance(n, ast.Return) and n.value]
        return bool(given) and all(self._on_the_cpu(each, method, depth) for each in given)

    def _is_of_torchvision(self, made: ast.expr) -> bool:
        """Tell whether one of torchvision's sets of data is made, which are on the CPU: ``datasets.MNIST(root).targets``."""
        head, _, rest = ast.unparse(made).partition(".")
        imported = self._tree.names[0].get(head, "")
        return f"{imported}.{rest}".startswith("torchvision.datasets.")

    def _is_a_text(self, func: ast.expr) -> bool:
        """Tell whether a method is one of a text's: ``str(x).split``; or a function gives nothing but texts, by its annotation."""
        if isinstance(func, ast.Attribute):
            made = func.value
            return isinstance(made, ast.Call) and ast.unparse(made.func) in _NO_TENSORS
        defined = self._tree.names[1].get(func.id) if isinstance(func, ast.Name) else None
        returns = getattr(defined, "returns", None)
        return returns is not None and ast.unparse(returns) in ("str", "int", "float")

    def _is_a_number(self, attribute: str) -> bool:
        """Tell whether the class gives an attribute numbers and texts alone, and what it has saved of it; or counts by it."""
        given: list[ast.expr] = []
        counted = False
        for node in ast.walk(self._owner):
            match node:
                case ast.Assign(targets=targets, value=value):
                    given += [value for target in targets if ast.unparse(target) == attribute]
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    given += [value] if ast.unparse(target) == attribute else []
                case ast.AugAssign(target=target, value=ast.Constant()):
                    counted = counted or ast.unparse(target) == attribute
                case _:
                    pass
        plain = [isinstance(each, ast.Constant) for each in given]
        loaded = [isinstance(v, ast.Call) and ast.unparse(v.func).endswith(".load") for v in given]
        return any(plain) and (counted or all(map(any, zip(plain, loaded, strict=True))))

    def _is_bound_there(self, name: str, home: Function | None, depth: int) -> bool:
        if (name, home) in self._asked:
            return True
        self._asked.add((name, home))
        around: ast.AST = home if home is not None else self._tree.module
        if home is not None and any(
            a.arg == name for a in ast.walk(home.args) if isinstance(a, ast.arg)
        ):
            return False
        given: list[ast.expr] = []
        for node in ast.walk(around):
            match node:
                case ast.Assign(targets=[ast.Name(id=each)], value=value) if each == name:
                    given.append(value)
                case ast.Assign(targets=[ast.Tuple(elts=parts)], value=value) if any(
                    isinstance(p, ast.Name) and p.id == name for p in parts
                ):
                    given.append(value)
                case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=each))], value=value) if (
                    each == name
                ):
                    given.append(value)
                case ast.AugAssign(target=ast.Name(id=each), value=value) if each == name:
                    given.append(value)
                case ast.Call(func=ast.Attribute(value=ast.Name(id=each), attr=attr)) if (
                    each == name and attr in _FILLS
                ):
                    given += [*node.args[-1:], *(keyword.value for keyword in node.keywords)]
                case _:
                    pass
        if not given and home is not None:
            return self._is_bound_there(name, None, depth)
        return bool(given) and all(self._is_from_there(each, home, depth) for each in given)

    def _is_from_there(self, value: ast.expr, home: Function | None, depth: int) -> bool:
        """Tell whether a variable's value lies there: what is loaded of the same file does where the rest does."""
        if self._silent and isinstance(value, ast.Call):
            func = ast.unparse(value.func)
            own = self._names(self._call.args[0], _function(self._tree, self._call))
            here = self._names(value.args[0], home) if func == "torch.load" else set()
            if any(_may_be_one(name, each) for name in own for each in here):
                return True
        return self._on_the_cpu(value, home, depth)
