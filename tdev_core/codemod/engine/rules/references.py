"""References to torch: ``torch.cuda.*``, other device-dependent names, calls that take a device."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import descendants, dotted, string_value
from tdev_core.codemod.engine.analysis.resolve import SAME, TENSOR_TYPE, Reference
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.architecture import (
    asks_for_nvidias,
    asks_for_the_vendor,
    beside_a_kept_question,
    beside_rocm,
    names_an_architecture,
)
from tdev_core.codemod.engine.rules.arms import (
    ARMS,
    enclosing_function,
    is_the_rest,
    refuses_beside_others,
)
from tdev_core.codemod.engine.rules.attention import SDPA_KERNEL, names_math
from tdev_core.codemod.engine.rules.backend_questions import ASKED, chooses_between_backends
from tdev_core.codemod.engine.rules.build_version import NAME as VERSION_NAME
from tdev_core.codemod.engine.rules.build_version import build_version
from tdev_core.codemod.engine.rules.counters import counts_what_cuda_holds
from tdev_core.codemod.engine.rules.counts import (
    asks_for_several,
    at_least_one,
    in_an_arm_of_several,
)
from tdev_core.codemod.engine.rules.cudas_tests import (
    asks_what_stays,
    lives_from_what_stays,
    skips_a_row_beside_others,
    skips_a_test_of_cudas,
    tries_in_double,
)
from tdev_core.codemod.engine.rules.demands import DEMAND, answer, demand, has_kernels
from tdev_core.codemod.engine.rules.device_calls import chooses_for_nobody, device_call
from tdev_core.codemod.engine.rules.groups import is_made_alike
from tdev_core.codemod.engine.rules.guards import (
    availability_guards,
    guards_a_package,
    guards_a_product,
)
from tdev_core.codemod.engine.rules.kept_names import (
    asks_for_a_private_name,
    asks_for_a_public_name,
    in_a_row_of_its_own,
    is_asked_for_a_handle,
    is_for_its_cache,
    is_listed_beside_others,
    is_loaded_again,
    is_put_back,
    place_of_identity,
)
from tdev_core.codemod.engine.rules.kept_questions import LEFT, kept_question
from tdev_core.codemod.engine.rules.kernels import (
    KERNEL,
    imported_packages,
    is_built_by_torch,
    plain_extensions,
)
from tdev_core.codemod.engine.rules.left_to_cuda import (
    leave_decorated,
    leave_what_it_lets_through,
    leave_what_it_opens,
)
from tdev_core.codemod.engine.rules.reasons import reason
from tdev_core.codemod.engine.rules.reference_rules import (
    ARGUMENT,
    NO_DIFFERENCE,
    PRIVATE,
    REFERENCE,
)
from tdev_core.codemod.engine.rules.registered import is_of_a_kernel
from tdev_core.codemod.engine.rules.requests import (
    asks_for_a_requested_device,
    beside_a_request,
    compared_with_the_word,
    handed_out,
)
from tdev_core.codemod.engine.rules.saved_states import is_of_saved_states
from tdev_core.codemod.engine.rules.seeds import is_seeded_already
from tdev_core.codemod.engine.rules.speaks_of_others import (
    LEAVES_OUT,
    means_cudas_type,
    said_of_others,
)
from tdev_core.codemod.engine.rules.stand_ins import is_answered
from tdev_core.codemod.engine.rules.strings import PATCHED, STRINGS, is_patched_beside_others
from tdev_core.codemod.engine.rules.taken import (
    PROFILER,
    READ_BY_NOBODY,
    is_for_the_memory_profiler,
    why_it_is_left,
)
from tdev_core.codemod.engine.rules.tellings import (
    CHOOSES_A_WORD,
    COMPILES,
    asks_to_copy_unwaited,
    asks_to_pin,
    is_told_as_cudas,
    only_chooses_a_word,
    only_compiles,
    only_tells_of_cuda,
)
from tdev_core.codemod.engine.rules.torch_names import (
    call_of,
    every_reference,
    routed_prefix,
    whole_question,
)
from tdev_core.codemod.engine.rules.torchscript import left_to_script
from tdev_core.codemod.engine.rules.type_questions import asked_by, beside_one_that_stays, judge
from tdev_core.codemod.engine.vocabulary import SCALERS

# A build script is left as it is, for it runs where tdev need not be; one that tdev runs is another thing.
_IN_BUILD_SCRIPTS = "torch.utils.cpp_extension.CUDAExtension"
_OF_A_NAME = ("torch.cuda.is_available", "torch.cuda.get_device_name")
_ARCHITECTURE = ("torch.cuda.get_device_capability", "torch.cuda.get_arch_list")


def references(file: File) -> None:
    """Visit every name that an import of torch gave."""
    # What is tdev's already is left; what was said of it the first time is said again.
    found = [f for f in every_reference(file) if not file.kept(f.node)]
    chosen = chooses_between_backends(file, found)
    # A decorator, which may leave its function as it is, before that: the tree has it behind.
    for reference in sorted(found, key=lambda each: _order(file, each.node)):
        # Half of a condition is never rewritten.
        if reference.name in ASKED or not beside_a_kept_question(file, reference.node):
            _one(file, reference, chosen)


def _order(file: File, node: cst.CSTNode) -> tuple[int, int]:
    """Return what sorts names as they are met: the test of ``a if test else b`` before its arms."""
    at = file.tree.span(node)[0]
    below = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.IfExp) and below is parent.test:
            return file.tree.span(parent)[0], 0
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            break
        below = parent
    return at, 1


_OF_TYPES = re.compile(r"(?:\w+\.)*(?:Union|Optional|Type|Tuple|List|Sequence)\Z")


def _is_in_an_annotation(file: File, node: cst.CSTNode) -> bool:
    """Tell whether something stands in an annotation, or in a name for one: ``Index = Union[int, torch.cuda.LongTensor]``."""
    return any(
        isinstance(parent, cst.Annotation)
        or isinstance(parent, cst.Subscript)
        and _OF_TYPES.match(file.tree.text(parent.value))
        for parent in file.tree.ancestors(node)
    )


# `config = self.cuda_config if q.is_cuda else self.cpu_config`: the latter is right for any other device.
_CHOSEN = re.compile(r"\bcuda_(?:config|backends)\b[ \t]+if\b")


def _is_chosen_for_cuda(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a function chooses which kernels of attention CUDA has, and which all others."""
    home = enclosing_function(file, node)
    return home is not None and _CHOSEN.search(file.tree.text(home)) is not None


_ASKS_FOR_AUTOCAST = re.compile(r"torch\.(?:is_autocast_enabled|get_autocast_(?:gpu_)?dtype)\Z")
_CALLS_FLASH = re.compile(r"\b_?(?:flash_attention_forward|\w*flash_attn\w*)\(")
_ANSWERED = re.compile(r"\btdev\.standins\.flash_attn\b")


def _why_autocast_stays(file: File, node: cst.CSTNode) -> str | None:
    """Say why a question for CUDA's autocast stays: its function goes on to flash attention, or it opens a question that stays."""
    home = enclosing_function(file, node)
    if home is not None and _CALLS_FLASH.search(file.tree.text(home)) is not None:
        if file.in_code(_ANSWERED, "tdev.standins") is None and not _answers_flash(file):
            return f"{home.name.value} goes on to flash attention, which is CUDA's"
    asked = file.tree.parents[node]
    choice = file.tree.parents.get(asked)
    if isinstance(asked, cst.Call) and isinstance(choice, cst.If) and choice.test is asked:
        for each in descendants(choice.body):
            if isinstance(each, cst.Comparison) and (inner := asked_by(file, each)) is not None:
                if judge(file, inner).stays is not None:
                    return "it opens a question that stays"
    return None


_BY_NAME = re.compile(r"\breturn[ \t]+getattr\(\s*torch\s*,")


def _is_given_beside_any_module(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a function gives torch's module for a device by its name, and CUDA's as the last resort."""
    home = (
        enclosing_function(file, node) if isinstance(file.tree.parents[node], cst.Return) else None
    )
    if home is None:
        return False
    return _BY_NAME.search(file.tree.source, *file.tree.span(home)) is not None


_CHOOSES_CUDA = re.compile(r"\bdevice[ \t]*=(?!=)[^\n=]*\bdevice\((?:\n[ \t]*[\"']|[^\n]*\b)cuda\b")
# What does nothing where there is no CUDA, or counts nothing.
_OF_ITS_MEMORY = frozenset(
    f"torch.cuda.{name}"
    for name in (
        *("empty_cache", "memory_allocated", "max_memory_allocated"),
        *("memory_reserved", "max_memory_reserved"),
    )
)


def _comes_after_cudas_choice(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a question that stays has chosen the device of a function above a place: off CUDA it is the CPU."""
    home = enclosing_function(file, node)
    if home is None or "device" not in file.tree.source:
        return False
    start, at = file.tree.span(home)[0], file.tree.span(node)[0]
    arms = [span for span in file.untouched if start < span[0] and span[1] <= at]
    for low, high in arms:
        line = file.tree.position(low)[0]
        # `torch.device("cuda" if … else "cpu")`, be it over several lines
        begins = (file.tree.line_start(each) for each in (line, line - 1) if each > 0)
        if any(_CHOOSES_CUDA.search(file.tree.source, each, high) for each in begins):
            return True
    return False


def _counted(file: File, node: cst.CSTNode) -> cst.Call | None:
    """Return the call by which a condition asks how many there are of something: ``len(torch.cuda.default_generators) > 0``."""
    given = file.tree.parents[node]
    call = file.tree.parents[given] if isinstance(given, cst.Arg) else None
    if not isinstance(call, cst.Call) or file.tree.text(call.func) not in ("len", "bool"):
        return None
    asks = (cst.Comparison, cst.If, cst.IfExp, cst.BooleanOperation)
    return call if isinstance(file.tree.parents[call], asks) else None


def _names_a_type(value: cst.BaseExpression) -> bool:
    """Tell whether a type of tensors is written out: ``"torch.DoubleTensor"``, ``torch.DoubleTensor``."""
    return (string_value(value) or dotted(value) or "").endswith("Tensor")


def _answers_flash(file: File) -> bool:
    """Tell whether an import of flash_attn becomes the stand-in's."""
    return any(
        package.name == "flash_attn" and is_answered(file, node)
        for node, package in imported_packages(file)
    )


MOCKED = (
    "is answered by a mock that a test of the tree puts in the place of this module's torch; what that has answers for "
    "is left as it is"
)


def _can_stay(found: Reference) -> bool:
    """Tell whether a question keeps its answer: its name comes of torch, not of a module that becomes tdev's with all it has."""
    return found.package == "tdev" or found.target == "torch" or found.target in ASKED


def _one(file: File, found: Reference, chosen: dict[cst.CSTNode, str]) -> None:
    names = file.names
    name = found.name
    if name in file.mocked:
        # Once for the file.
        if not any(each.message.endswith(MOCKED) for each in file.findings.values()):
            file.find(REFERENCE, found.node, f"{name} {MOCKED}", "warning")
        file.untouched.append(file.tree.span(found.node))
        if name in ASKED:
            leave_what_it_opens(file, found.node)
        return
    if found.target != "torch" and all(map(file.for_checkers_only, found.bindings)):
        return  # the name of a type, which no call is made by
    if name in SAME:
        return
    if (TENSOR_TYPE.match(name) or name in SCALERS) and _is_in_an_annotation(file, found.node):
        return
    at = file.tree.span(found.node)[0]
    for span in [tried for tried in file.tried if tried[0] <= at < tried[1]]:
        file.tried.remove(span)
        message = f"CUDA is tried beside other accelerators; {LEFT}"
        kept_question(file, found, ARMS, message, "note")
    if name.endswith(("sdp_kernel", "sdpa_kernel")) and _is_chosen_for_cuda(file, found.node):
        said = f"{name} is given what was chosen for CUDA or for what is not; {LEFT}"
        file.find(KERNEL, found.node, said, "note")
        return
    if name.startswith("torch.library."):
        if has_kernels(file):
            return  # registers a kernel for the device that it was written for
        if is_of_a_kernel(file, found.node):
            said = f"{name} registers for CUDA what calls more than torch; {LEFT}"
            file.find(KERNEL, found.node, said, "note")
            return
    if _ASKS_FOR_AUTOCAST.match(name) and not file.options.program:
        if (why := _why_autocast_stays(file, found.node)) is not None:
            file.find(KERNEL, found.node, f"{name}: {why}; {LEFT}", "note")
            return
    call = call_of(file, found.node)
    if name == SDPA_KERNEL and names_math(file, file.tree.span(found.node)[1]):
        return
    if asks_for_a_public_name(file, found) or is_made_alike(file, name, found.node, call):
        return
    if name in names.routed and (where := place_of_identity(file, found)) is not None:
        message = f"{name} {where}, where it is compared with torch's own; {LEFT}"
        kept_question(file, found, REFERENCE, message, "note", "tdev's is another function")
        return
    if name in names.modules and is_loaded_again(file, found):
        message = f"{name} is loaded again, which tdev's own module does not do to it; {LEFT}"
        kept_question(file, found, REFERENCE, message, "note")
        return
    if is_listed_beside_others(file, found):
        message = f"{name} stands beside the modules of other accelerators; {LEFT}"
        kept_question(file, found, ARMS, message, "note")
        return
    if call is None and is_put_back(file, found):
        message = f"what {name} is set to stays torch's, and what it was with that; {LEFT}"
        kept_question(file, found, REFERENCE, message, "note")
        return
    if name in names.device_params:
        asks = name.endswith("autocast") or _ASKS_FOR_AUTOCAST.match(name) is not None
        if asks and left_to_script(file, found.node, name):
            return
        device_call(file, found, call)
        return
    if name == "torch.set_default_tensor_type" and call is not None and call.args:
        if "cuda" not in file.tree.text(call.args[0].value) and _names_a_type(call.args[0].value):
            return  # of the CPU, which is torch's own
        if "Double" in file.tree.text(call.args[0].value) and not file.options.program:
            said = f"{name} chooses CUDA for double precision, which MPS has not; {LEFT}"
            kept_question(file, found, REFERENCE, said, "note")
            file.untouched.append(file.tree.span(call.args[0].value))
            return
    if name.startswith("torch.utils.cpp_extension.") and (
        plain_extensions(file) or (not file.options.program and is_built_by_torch(file, found.node))
    ):
        return
    routed = routed_prefix(name, names)
    if file.options.program and name == _IN_BUILD_SCRIPTS:
        routed = name
    if name == "torch.has_cuda":
        # What torch has no other name for; nothing else depends on the device. A call is no target.
        is_set = isinstance(file.tree.parents[found.node], (cst.AssignTarget, cst.Del))
        if is_set or file.stays(found.node):
            return
        if availability_guards(file, found.node) is None:
            spelled = f"{file.here(found.node)}.backends.cuda.is_built()"
            file.replace_node(REFERENCE, found.node, spelled)
        return
    if routed is None:
        if "._cuda_" in name or name.startswith("torch._C._cuda"):
            file.find(PRIVATE, found.node, f"{name} is private to torch")
        return
    if routed == VERSION_NAME:
        build_version(file, found)
        return
    if routed != "torch.cuda" and is_for_its_cache(file, found, name[len(routed) :]):
        message = f"what {routed} keeps is asked for, and not the function; {LEFT}"
        kept_question(file, found, REFERENCE, message, "note", "tdev's keeps nothing")
        return
    if asks_for_a_private_name(file, found):
        message = f"a private name of {name} is asked for; {LEFT}"
        kept_question(file, found, PRIVATE, message, "warning", "tdev's has none")
        return
    if (
        name in _ARCHITECTURE
        and (
            asks_for_nvidias(file, found.node)
            or beside_rocm(file, found.node)
            or guards_a_product(file, found.node)
        )
        or (name == "torch.cuda.get_device_properties" and names_an_architecture(file, found.node))
    ):
        whose = "AMD's" if beside_rocm(file, found.node) else "NVIDIA's"
        message = f"{name} is asked for an architecture of {whose}; {LEFT}"
        kept_question(file, found, KERNEL, message, "note", "from tdev it is (0, 0) elsewhere")
        return
    if not file.options.program and name in _OF_A_NAME and asks_for_the_vendor(file, found.node):
        message = f"{name} is asked for the vendor of a device that torch calls CUDA's; {LEFT}"
        kept_question(file, found, KERNEL, message, "note")
        return
    if name in _ARCHITECTURE and guards_a_package(file, found.node):
        message = f"{name} guards packages that exist for CUDA only; {LEFT}"
        kept_question(file, found, KERNEL, message, "note", "from tdev it is (0, 0) elsewhere")
        return
    if name == "torch.cuda.empty_cache" and is_the_rest(file, found.node):
        # It does nothing where there is no CUDA, and is what the function gives CUDA.
        message = f"{name} is CUDA's arm beside those of other accelerators; {LEFT}"
        kept_question(file, found, ARMS, message, "note")
        return
    if name in _OF_ITS_MEMORY and _comes_after_cudas_choice(file, found.node):
        said = f"{name}: the device above is CUDA's or the CPU, as a question that stays chooses; {LEFT}"
        file.find(KERNEL, found.node, said, "note")
        return
    if name == "torch.cuda" and _is_given_beside_any_module(file, found.node):
        said = f"{name} is given where torch has no module of a device's name; {LEFT}"
        kept_question(file, found, ARMS, said, "note")
        return
    if is_patched_beside_others(file, found):
        kept_question(file, found, STRINGS, f"{name} {PATCHED}", "note")
        return
    if name == "torch.cuda.default_generators" and (counted := _counted(file, found.node)):
        # None off CUDA, where the other arm seeds all; tdev has one for what stands for CUDA.
        message = f"{name} is counted, which asks whether there is CUDA; {LEFT}"
        kept_question(file, found, REFERENCE, message, "note")
        leave_what_it_opens(file, counted)
        return
    if counts_what_cuda_holds(file, found):
        said = f"{name} counts nothing on the CPU, and tdev's what the process holds; what is made of it means CUDA's; {LEFT}"
        kept_question(file, found, REFERENCE, said, "note")
        return
    if is_asked_for_a_handle(file, found.node):
        return  # which goes to CUDA's own library; reported as such
    if is_of_saved_states(file, found):
        message = (
            f"{name}: a checkpoint keeps the states of CUDA's generators by CUDA's name; {LEFT}"
        )
        kept_question(file, found, REFERENCE, message, "note")
        if name in ASKED:
            leave_what_it_opens(file, found.node)
        return
    if name == "torch.cuda.current_device" and "_timeline" in file.tree.source:
        if is_for_the_memory_profiler(file, file.tree.parents[found.node]):
            said = f"{name} goes to {PROFILER}; {LEFT}"
            kept_question(file, found, ARMS, said, "note")
            return
    rest = name[len(routed) + 1 :]
    if routed == "torch.cuda" and rest.startswith("_"):
        file.find(PRIVATE, found.node, f"{name} is private to torch; tdev mirrors public names")
        if name == "torch.cuda._initialized":
            leave_what_it_opens(file, found.node)  # it is false wherever there is no CUDA
        return
    if name in ASKED:
        if found.node in chosen:
            kept_question(file, found, ARMS, chosen[found.node], "note")
            leave_what_it_opens(file, found.node)
            return
        if said_of_others(file, found.node):
            said = f"the comment above {name} speaks of other accelerators; {LEFT}"
            kept_question(file, found, ARMS, said, "note")
            leave_what_it_opens(file, found.node)
            return
        if means_cudas_type(file, found.node):
            kept_question(file, found, ARMS, f"{name} {LEAVES_OUT}", "note")
            leave_what_it_opens(file, found.node)
            return
        if is_told_as_cudas(file, found.node):
            kept_question(file, found, REFERENCE, f"{name} is told as CUDA's; {LEFT}", "note")
            leave_what_it_opens(file, found.node)
            return
        asked = whole_question(file, found.node)
        if name in file.patched:
            said = f"{name} is put in place by a doctest of this file, which asks torch; {LEFT}"
            kept_question(file, found, ARMS, said, "note")
            return
        if not file.options.program and refuses_beside_others(file, found.node):
            said = f"{name} refuses CUDA's name beside other accelerators'; {LEFT}"
            kept_question(file, found, ARMS, said, "note")
            return
        if asks_for_a_requested_device(file, found.node):
            if (returned := handed_out(file, asked)) is not None:
                for span in returned:
                    file.wrap(ARGUMENT, span, f"{file.here(found.node)}.device(", span, ")")
                file.use(REFERENCE, found)
                return
            said = f"{name} decides about a device that was asked for by its name; {LEFT}"
            kept_question(file, found, ARMS, said, "note")
            return
        if not file.options.program and (
            skips_a_test_of_cudas(file, found.node) or asks_what_stays(file, found.node)
        ):
            said = f"{name} decides about a test that holds on CUDA alone; {LEFT}"
            kept_question(file, found, DEMAND, said, "note")
            leave_what_it_opens(file, found.node)
            leave_decorated(file, found.node)
            return
        if not file.options.program and skips_a_row_beside_others(file, found.node):
            said = (
                f"{name} skips what a test is given for CUDA, beside another accelerator's; {LEFT}"
            )
            kept_question(file, found, ARMS, said, "note")
            leave_what_it_opens(file, found.node)
            leave_decorated(file, found.node, rows=True)
            return
        if not file.options.program and lives_from_what_stays(file, found.node):
            said = f"{name} decides about a test that lives from an is_cuda which stays; {LEFT}"
            kept_question(file, found, DEMAND, said, "note")
            leave_what_it_opens(file, found.node)
            leave_decorated(file, found.node)
            return
        if not file.options.program and tries_in_double(file, found.node):
            said = f"{name} decides about a test in double precision, which MPS has not; {LEFT}"
            kept_question(file, found, DEMAND, said, "note")
            leave_what_it_opens(file, found.node)
            leave_decorated(file, found.node)
            return
        requested = beside_a_request(file, found.node)
        if requested and compared_with_the_word(file, found.node):
            said = f"{name} is asked for a word that a device's type is compared with; {LEFT}"
            kept_question(file, found, ARMS, said, "note")
            leave_what_it_lets_through(file, found.node)
            return
        demanded = None if requested else demand(file, asked)
        guarded = availability_guards(file, found.node)
        if guarded is None and only_tells_of_cuda(file, found.node):
            guarded = "a message that says CUDA"
        if guarded is None and asks_to_copy_unwaited(file, found.node):
            guarded = "copies that nobody waits for, which are right on CUDA alone"
        if guarded is None and asks_to_pin(file, found.node):
            guarded = "page-locked memory, which torch has for CUDA"
        if guarded is None and beside_one_that_stays(file, found.node):
            said = f"{name} stands beside a question that is left as it is"
            kept_question(file, found, KERNEL, said, "note")
            leave_what_it_opens(file, found.node)
            return
        if demanded is None or demanded.verdict == "kept":
            if guarded is None and demanded is not None:
                why = f"{name} {demanded.why}; {LEFT}"
                kept_question(file, found, DEMAND, why, "warning")
                if demanded.skips:
                    leave_what_it_opens(file, found.node, arms=False)
                    leave_decorated(file, found.node)
                elif _can_stay(found):
                    leave_what_it_opens(file, found.node)
                return
            if guarded is not None:
                kept_question(file, found, KERNEL, f"{name} guards {guarded}; {LEFT}", "note")
                if _can_stay(found):
                    leave_what_it_opens(file, found.node)
                return
        elif not demanded.skips:
            if found.package == "torch" and not left_to_script(file, found.node, name):
                answer(file, asked, found)
            return
        if not file.options.program and only_compiles(file, asked):
            kept_question(file, found, REFERENCE, f"{name} {COMPILES}", "note")
            return
        if not file.options.program and only_chooses_a_word(file, asked):
            kept_question(file, found, ARMS, f"{name} {CHOOSES_A_WORD}; {LEFT}", "note")
            return
        why = None if file.options.program else why_it_is_left(file, asked)
        if why is None and chooses_for_nobody(file, file.tree.parents[asked]):
            why = READ_BY_NOBODY
        if why == READ_BY_NOBODY and file.options.style == "alias":
            # One that stayed would have the file import tdev beside torch.
            file.use_besides(REFERENCE, found, reason(name), (NO_DIFFERENCE, f"{why}; {LEFT}"))
            return
        if why is not None:
            kept_question(file, found, ARMS, f"{name} {why}; {LEFT}", "note")
            leave_what_it_opens(file, found.node)
            return
    if not in_a_row_of_its_own(file, found.node) and not left_to_script(file, found.node, name):
        same = None
        if file.options.program:
            pass  # it runs on what there is, several of `sim`'s devices too
        elif name in ASKED and asks_for_several(file, found):
            same = f"decides nothing between one device and none; {LEFT}"
        elif name == "torch.cuda.device_of":
            same = f"does nothing but on CUDA; {LEFT}"
        elif in_an_arm_of_several(file, found.node):
            same = f"is reached where there are several devices alone; {LEFT}"
        elif (seeds := is_seeded_already(file, found)) is not None:
            same = f"{seeds} torch.manual_seed beside it does on every device; {LEFT}"
        if same is not None:
            file.use_besides(REFERENCE, found, reason(name), (NO_DIFFERENCE, same))
            return
        at_least_one(file, found)
        file.use(REFERENCE, found, reason(name))
