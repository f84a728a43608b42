"""Reports CUDA literals that are handed to functions the engine cannot see."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.analysis.kinds import Kind
from tdev_core.codemod.engine.analysis.literals import is_device_word
from tdev_core.codemod.engine.analysis.nodes import descendants, dotted, string_value
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.handing_on import hands_a_settings_device
from tdev_core.codemod.engine.rules._make import rule
from tdev_core.codemod.engine.rules.import_order import STDLIB
from tdev_core.codemod.engine.rules.other_runtimes import device_choice, without_messages
from tdev_core.codemod.engine.rules.speaks_of_others import knows_mps
from tdev_core.codemod.engine.rules.tensors import is_own_device
from tdev_core.codemod.engine.vocabulary import LIBRARIES, SETTINGS_CLASS
from tdev_core.ecosystem.device_table import named

FOREIGN = rule(
    "foreign-device",
    "Devices handed to other libraries",
    None,
    """
    Libraries such as transformers call torch itself, which tdev never patches, so they need a
    device that exists: `pipeline("text-generation", device="cuda")` becomes
    `pipeline("text-generation", device=str(tdev.device("cuda")))`. A string stays a string and a
    keyword stays a keyword; on CUDA the value is the very same `"cuda"`.

    Only for callables imported from libraries on a short list (transformers, diffusers,
    accelerate, sentence_transformers, timm, open_clip, clip, whisper, ultralytics, torchvision,
    torchaudio, safetensors, peft, kornia, lpips), only for keywords that say `device` or
    `map_location`, and only for literals, or for a choice of one where it is handed over.

    A variable that holds the answer to the question for CUDA (`device = "cuda" if
    torch.cuda.is_available() else "cpu"`, or an `if` that sets it; a function of the file may ask) and is handed to such
    a library, or to any other package that is not part of the program, gets the device there: with the question alone answered for the device
    in use, the library would be told of CUDA where it was told of the CPU. So does what it hands to any function
    in a package that knows MPS by its name. What is given as a `device_map`
    goes to accelerate, whatever it is given to: so does a name that is kept under that one
    (`self.device_map = f"cuda:{rank}"`), and each device of a table, `device_map={"": "cuda:0"}`.

    So does one for a function of the tree that hands its `device` to such a package.

    A word that is chosen for settings stays what it is: as the default of a command line whose device goes to such a package in that
    file, or as a field of a configuration (`class RunConfig: device: str = "cuda" if torch.cuda.is_available() else "cpu"`) where the
    tree hands one's device on so. Where a file that reads it asks for CUDA or moves to it besides, it is chosen anew, and told.
    """,
)

UNKNOWN = rule(
    "device-literal",
    "Device literals handed to unknown functions",
    "note",
    """
    `build(model, device="cuda")` gives the string to a function of another module. If that
    module is part of the program it is migrated by the same rules, and a `str` has to stay a
    `str`, so the call is not changed; the file imports tdev, whose shims that module may need.
    If it belongs to a library that calls torch by itself, hand it
    `str(tdev.device("cuda"))`. The engine cannot tell which, and lists the place.

    A variable that may hold CUDA's name and is given to a package beside the program, as `device`, is listed
    with what to write. So is `accelerator="cuda"`, which is CUDA alone to Lightning: `"gpu"` is any that it knows. Its
    `load_from_checkpoint` calls `torch.load`, whoever's class it is a method of: what it is given as `map_location` is listed
    where it may be a word.
    """,
)

_NOT_TORCH = {"", "torch", "tdev", *STDLIB, *named("name", "nothing")} | set(
    "numpy cupy mlx pandas".split()
)
# Of a command line: `--sort cuda` asks for no device.
_OPTION = re.compile(
    r"(?i)dev|gpu|cuda|accelerator|backend|platform|hardware|target|place|where|map"
)
_MOVES = frozenset({"to", "cuda", "to_empty"})
_DEVICE_KEYWORD = re.compile(r"(^|_)(device|map_location)$|^device(_map|_type|_id)?$")


def handed_on(file: File) -> None:
    for node in file.tree.of(cst.Arg):
        call = file.tree.parents[node]
        if node.star or not isinstance(call, cst.Call) or file.kept(node):
            continue
        value = node.value
        if isinstance(value, cst.IfExp) and file.stays(value.body):
            value = value.orelse  # there is CUDA where it is chosen
        if _leaves(file, call, node) and Kind.CUDA in file.flow.kinds(value):
            file.given.append(node)
        if _moves(call):
            continue  # a method that tdev answers, of what a library's function returned
        if _gives_a_map(file, call, node):
            continue
        if not file.flow.names_cuda(node.value):
            if not _chosen(file, call, node):
                _held(file, call, node)
            continue
        if _is_for_lightning(node) and file.options.style != "accelerator":
            name = dotted(call.func) or "a call"
            file.find(
                UNKNOWN, node, f'"cuda" is CUDA alone to {name}; "gpu" or "auto" is what there is'
            )
            continue
        if node.keyword is None or not _DEVICE_KEYWORD.search(node.keyword.value):
            continue
        library = _outside(file, call.func)
        if library in LIBRARIES and file.options.style != "accelerator":
            inner = file.tree.span(node.value)
            here = file.here(node)
            file.wrap(FOREIGN, inner, f"str({here}.device(", inner, "))")
        elif library in LIBRARIES or _unknown(file, call):
            name = dotted(call.func) or "a call"
            file.find(UNKNOWN, node, f"{file.tree.text(node.value)} is handed to {name}")
    for question in file.used:
        choice = device_choice(file, question)
        if choice is not None and (who := who_hands_settings_on(file, choice)) is not None:
            file.find(
                UNKNOWN,
                choice,
                f'this may be "cuda", and {who} hands it to a package which calls torch itself: give that str(tdev.device(...))',
            )


def _gives_a_map(file: File, call: cst.Call, node: cst.Arg) -> bool:
    """Give the devices of a map for CUDA's names in it, ``device_map={"": "cuda:0"}``; tell whether there are some."""
    table = node.value
    if file.options.style == "accelerator" or _called(node) != "device_map":
        return False
    if not isinstance(table, cst.Dict) or _outside(file, call.func) not in LIBRARIES:
        return False
    words = [each.value for each in table.elements if isinstance(each, cst.DictElement)]
    for word in words:
        if _is_a_cuda_word(word):
            inner = file.tree.span(word)
            file.wrap(FOREIGN, inner, f"str({file.here(node)}.device(", inner, "))")
        elif not _give_the_device(file, word) and _NAMES_CUDA.match(file.tree.text(word)):
            name, text = dotted(call.func) or "a call", file.tree.text(word)
            file.find(UNKNOWN, word, f"{text} is handed to {name}")
    return any(_NAMES_CUDA.match(file.tree.text(word)) for word in words)


_NAMES_CUDA = re.compile(r"[fF]?[\"']cuda\b")


_STARTS_WITH_CUDA = re.compile(r"[fF]?[\"']cuda(?::(?:\d+|\{[^{}]+\}))?[\"']")


def _is_a_cuda_word(value: cst.BaseExpression) -> bool:
    """Tell whether a string is CUDA's name, with a number or one that is put in."""
    if isinstance(value, cst.FormattedString):
        return _STARTS_WITH_CUDA.fullmatch(cst.Module([]).code_for_node(value)) is not None
    return (
        isinstance(value, cst.SimpleString) and _STARTS_WITH_CUDA.fullmatch(value.value) is not None
    )


def _gives_what_is_kept_for_a_map(file: File, given: cst.BaseExpression) -> bool:
    """Give the device for CUDA's name in what is kept under the name of such a map, and asked for nothing else.

    ``self.device_map = f"cuda:{rank}"``, for ``from_pretrained(name, device_map=self.device_map)``.
    """
    if not _is_a_cuda_word(given) or file.stays(given):
        return False
    kept = file.tree.parents[given]
    target = file.tree.text(kept.targets[0].target) if isinstance(kept, cst.Assign) else ""
    if not target.rpartition(".")[2] == "device_map" or _ASKED_MAP.search(file.code) is not None:
        return False
    inner = file.tree.span(given)
    file.wrap(FOREIGN, inner, f"str({file.here(given)}.device(", inner, "))")
    return True


# What it is asked; that it is "auto", or none, may be asked.
_ASKED_MAP = re.compile(
    r"\bdevice_map[ \t]*(?:[=!]=[ \t]*[fF]?[\"']cuda|in[ \t]|not[ \t]+in[ \t]|\[|\.\w)"
    r"|[\"']cuda[^\"'\n]*[\"']\s+(?:not\s+)?in\b[^\n]*\bdevice_map\b|\b(?:str|repr|re\.\w+)\([^\n]*\bdevice_map\b(?![ \t]*=)"
)

_WORD_ALONE = re.compile(r"\s*(?:\w+[ \t]*=[ \t]*)?[\"']cuda(?::\d+)?[\"']\s*\Z")


def who_hands_settings_on(file: File, choice: cst.IfExp | cst.If) -> str | None:
    """Name what hands a word to a package beside the tree that is chosen as a field of a configuration, or as the default of a command line."""
    tree = file.options.tree
    if tree is None or file.options.program or file.options.style == "accelerator":
        return None
    if _WORD_ALONE.match(without_messages(file.tree.text(choice.body))) is None:
        return None
    holder = file.tree.parents[choice]
    if isinstance(holder, cst.Arg):
        if holder.keyword is None or holder.keyword.value != "default":
            return None
        own = tree.modules | tree.near
        told = hands_a_settings_device(file.code, tree.handing.functions, own)
        return "this file" if told else None
    scopes = (
        p for p in file.tree.ancestors(holder) if isinstance(p, (cst.FunctionDef, cst.ClassDef))
    )
    around = next(scopes, None)
    if not isinstance(around, cst.ClassDef) or SETTINGS_CLASS.search(around.name.value) is None:
        return None
    return f"who reads {around.name.value}" if tree.handing.settings else None


def _is_for_lightning(node: cst.Arg) -> bool:
    """Tell whether an argument is Lightning's word for a kind of device: ``Fabric(accelerator="cuda")``."""
    return (
        node.keyword is not None
        and node.keyword.value == "accelerator"
        and string_value(node.value) == "cuda"
    )


def _held(file: File, call: cst.Call, node: cst.Arg) -> None:
    """Report a variable that may hold CUDA's name and is handed to a package which calls torch by itself: ``plate(device=self.device)``."""
    value = node.value
    if file.options.style == "accelerator" or file.options.program:
        return
    if node.keyword is None or not _DEVICE_KEYWORD.search(node.keyword.value) or _moves(call):
        return
    if not isinstance(value, (cst.Name, cst.Attribute)):
        return
    name, text = dotted(call.func) or file.tree.text(call.func), file.tree.text(value)
    library = "which calls torch itself"
    if _hands_on(file, call.func):
        library = "and by that to a package which calls torch itself"
    said = f'{text} may be "cuda" and is handed to {name}, {library}'
    func = call.func
    loads = isinstance(func, cst.Attribute) and func.attr.value == "load_from_checkpoint"
    if loads and node.keyword.value == "map_location":
        if file.flow.may_be_cuda(value) and not is_own_device(file, value):
            file.find(UNKNOWN, node, f"{said}: a word has to become tdev.device(...) before")
    elif Kind.CUDA in file.flow.kinds(value) and _is_foreign(file, call.func):
        file.find(UNKNOWN, node, f"{said}: hand it str(tdev.device({text}))")


def _chosen(file: File, call: cst.Call, node: cst.Arg) -> bool:
    """Give the device for CUDA's name where a variable is handed on that holds it if there is CUDA; tell whether that is so."""
    value = node.value
    if file.options.style == "accelerator":
        return False
    if isinstance(value, cst.IfExp):  # chosen where it is given
        foreign = node.keyword is not None and _is_foreign(file, call.func)
        if not foreign or _DEVICE_KEYWORD.search(_called(node)) is None:
            return False
        return _give_the_device(file, value)
    # What moves is answered by tdev, as where it is given the word itself.
    if not is_device_word(value) or _moves(call):
        return False
    if node.keyword is not None and not _DEVICE_KEYWORD.search(node.keyword.value):
        return False
    # A map of devices is read by accelerate, whoever hands it on to there.
    mapped = node.keyword is not None and node.keyword.value == "device_map"
    # And where MPS is known, its name is as good a word as CUDA's: to a test, where it calls what knows that.
    known = file.options.tree.know_mps if file.options.tree is not None else frozenset()
    own = file.resolver.torch_name(call.func) is None and (
        knows_mps(file) or _library(file, call.func) in known
    )
    foreign = mapped or _is_foreign(file, call.func)
    if not (foreign or own):
        return False
    done = rest = False
    if isinstance(value, cst.Name):
        bindings = file.flow.bindings(value)
        if any(b.value is not None and _is_made_of_itself(file, value, b.value) for b in bindings):
            return True  # by a call that is tdev's, of the plain word
        given = [b.value for b in bindings if b.kind == "value" and b.value is not None]
        given_by_default = [b.node for b in bindings if isinstance(b.node, cst.Param)]
        rest = any(
            each.default is not None and file.flow.names_cuda(each.default)
            for each in given_by_default
        )
    else:
        given = file.flow.self_values(
            value, value.attr.value if isinstance(value, cst.Attribute) else ""
        )
    for each in given:
        if isinstance(each, cst.BooleanOperation):
            each = each.right  # `device or ("cuda" if … else "cpu")`
        if (foreign or isinstance(each, cst.IfExp)) and _give_the_device(file, each):
            done = True
        elif mapped and _gives_what_is_kept_for_a_map(file, each):
            done = True
        else:
            rest = rest or file.flow.names_cuda(each)
            rest = rest or mapped and Kind.CUDA in file.flow.kinds(each)
    return done and not rest  # the word may come another way, and is to be told


def _is_made_of_itself(file: File, name: cst.Name, value: cst.BaseExpression) -> bool:
    """Tell whether what a variable holds is made a device before it is handed on: ``device = torch.device(device)``."""
    if not isinstance(value, cst.Call) or len(value.args) != 1:
        return False
    line = file.tree.parents[file.tree.parents[value]]
    block = file.tree.parents[line]
    return (
        file.resolver.torch_name(value.func) == "torch.device"
        and isinstance(value.args[0].value, cst.Name)
        and value.args[0].value.value == name.value
        and file.tree.span(line)[1] <= file.tree.span(name)[0]
        # Reached whatever has been chosen above.
        and (isinstance(block, cst.Module) or block in file.tree.ancestors(name))
    )


def _give_the_device(file: File, given: cst.BaseExpression) -> bool:
    """Give the device for CUDA's name where a question chooses that, by an expression or an ``if``; tell whether it does."""
    chosen, test = given, None
    choice = _arm_around(file, given)
    if isinstance(given, cst.IfExp):
        chosen, test = given.body, given.test
    elif choice is not None and (file.stays(given) or _questions(file, choice.test)):
        test = choice.test
    if test is None:
        return False
    if file.stays(chosen):
        return True
    if not file.flow.names_cuda(chosen):
        return False
    starts = _questions(file, test)
    used = {file.tree.span(node)[0] for node in file.used}
    if isinstance(chosen, cst.SimpleString) and not used.isdisjoint(starts):
        inner = file.tree.span(chosen)
        file.wrap(FOREIGN, inner, f"str({file.here(given)}.device(", inner, "))")
    # Somebody else's yes need not be CUDA's.
    return bool(starts)


def _arm_around(file: File, given: cst.CSTNode) -> cst.If | None:
    """Return the ``if`` whose answer is yes where a variable gets what it is given."""
    arm = next((p for p in file.tree.ancestors(given) if isinstance(p, cst.BaseSuite)), None)
    choice = file.tree.parents.get(arm) if arm is not None else None
    return choice if isinstance(choice, cst.If) and choice.body is arm else None


def _moves(call: cst.Call) -> bool:
    return isinstance(call.func, cst.Attribute) and call.func.attr.value in _MOVES


def _called(node: cst.Arg) -> str:
    return node.keyword.value if node.keyword is not None else ""


def _questions(file: File, test: cst.BaseExpression) -> set[int]:
    """Return where the questions for CUDA stand by which a choice is made: in it, or in what its variable keeps.

    Or in a function of the file that gives the answer: ``self._has_gpu()``.
    """
    asked: list[cst.CSTNode] = [test]
    if isinstance(test, cst.Name):
        asked = [b.value for b in file.scopes.of(test).lookup(test.value) if b.value is not None]
    called = {_last_name(node.func) for node in asked if isinstance(node, cst.Call)} - {""}
    for home in file.tree.of(cst.FunctionDef) if called else ():
        if home.name.value in called:
            asked += [node for node in descendants(home) if isinstance(node, cst.Return)]
    spans = [file.tree.span(node) for node in asked]
    kept = [found.node for found, _ in file.asked.values()]
    starts = {file.tree.span(node)[0] for node in (*file.used, *kept)}
    return {at for at in starts for low, high in spans if low <= at < high}


def _last_name(func: cst.BaseExpression) -> str:
    """Return what a function is called that is called by its name, or a method of ``self``."""
    match func:
        case (
            cst.Name(value=name)
            | cst.Attribute(value=cst.Name(value="self" | "cls"), attr=cst.Name(value=name))
        ):
            return name
        case _:
            return ""


def _is_foreign(file: File, func: cst.BaseExpression) -> bool:
    """Tell whether a callable is of a package that is no part of the program, and calls torch by itself, or hands its device to one."""
    library = _outside(file, func)
    if library in LIBRARIES or _hands_on(file, func):
        return True
    return file.options.tree is not None and bool(library) and library not in _NOT_TORCH


def _hands_on(file: File, func: cst.BaseExpression) -> bool:
    """Tell whether a function of the tree hands the device that it is given to such a package."""
    tree = file.options.tree
    return tree is not None and _last_name(func) in tree.handing.functions


def _leaves(file: File, call: cst.Call, node: cst.Arg) -> bool:
    """Tell whether an argument goes to another module, or to the command line as an option's default."""
    if isinstance(call.func, cst.Attribute) and call.func.attr.value == "add_argument":
        names = [string_value(arg.value) or "" for arg in call.args if arg.keyword is None]
        named = any(map(_OPTION.search, names))
        return named and node.keyword is not None and node.keyword.value == "default"
    return _library(file, call.func) not in _NOT_TORCH


def _outside(file: File, func: cst.BaseExpression) -> str:
    """Return that package where it is none of the program's own, which may be called as a library is."""
    library = _library(file, func)
    tree = file.options.tree
    return "" if tree is not None and library in tree.modules | tree.near else library


def _library(file: File, func: cst.BaseExpression) -> str:
    """Return the top-level package that a callable was imported from, if any."""
    root: cst.CSTNode = func
    while isinstance(root, (cst.Attribute, cst.Call, cst.Subscript)):
        root = root.func if isinstance(root, cst.Call) else root.value
    if not isinstance(root, cst.Name):
        return ""
    targets = {(b.target or "").split(".")[0] for b in file.scopes.of(root).lookup(root.value)}
    return targets.pop() if len(targets) == 1 else ""


def own_method(file: File, func: cst.Attribute) -> bool:
    """Tell whether the class around ``self.name`` defines the method itself."""
    name = func.attr.value
    home = next((p for p in file.tree.ancestors(func) if isinstance(p, cst.ClassDef)), None)
    if home is None:
        return False
    # The text is asked: a method of no concern is not in the tree.
    text = file.tree.text(home)
    return re.search(rf"^\s+(?:async\s+)?def {re.escape(name)}\b", text, re.MULTILINE) is not None


def _unknown(file: File, call: cst.Call) -> bool:
    """Tell whether nothing is known of the callee: not torch's, not this file's, not a method tdev shims."""
    if file.resolver.torch_name(call.func) is not None:
        return False
    func = call.func
    if isinstance(func, cst.Name):
        if func.value in ("str", "print", "dict", "device", "partial"):
            return False
        bindings = file.scopes.of(func).lookup(func.value)
        return not any(b.kind == "definition" for b in bindings)
    if isinstance(func, cst.Attribute):
        if func.attr.value in file.names.device_methods or func.attr.value == "partial":
            return False
        if isinstance(func.value, cst.Name) and func.value.value in ("self", "cls"):
            return not own_method(file, func)
        return not is_device_word(func)
    return True
