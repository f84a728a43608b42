"""The rules about names of torch: what they say of themselves."""

from __future__ import annotations

from tdev_core.codemod.engine.rules._make import rule

REFERENCE = rule(
    "cuda-reference",
    "References to `torch.cuda` and other device-dependent names",
    None,
    """
    A name whose behaviour depends on the device is taken from tdev instead of torch:
    everything public in `torch.cuda`, and functions such as
    `torch.distributed.init_process_group` or `torch.load` that act on CUDA without saying so.

    Only the first name of the reference changes (`torch.cuda.synchronize` becomes
    `tdev.cuda.synchronize`), wherever it stands: called, passed as a value, in a decorator, an
    annotation, a default, an `except` clause. The arguments stay as they are, because tdev's
    function has the same signature. Names that start with an underscore are not mirrored and
    are reported.

    Some places keep torch's name: what clears a function's cache (`torch.cuda.device_count.cache_clear()`), CUDA's row of a table that has a row for another accelerator
    (`{"cuda": torch.cuda.synchronize, "mps": torch.mps.synchronize}`), and a function, CUDA's aside, that is
    a key of a table, of a set or of a test (`{torch.load: wrapped}`), where torch's own is compared with it.
    So does a question whose answer is only put into words as CUDA's: `f"cuda.available={torch.cuda.is_available()}"`,
    `("CUDA available?", torch.cuda.is_available())`, or beside `torch.version.cuda` in a table; a variable for that may also open
    what takes down CUDA's version. And one that chooses a word
    which says CUDA and is told and nothing else, or a word that nothing reads.
    So do the counters of memory of a function that compares such a number (`assert torch.cuda.memory_allocated() == before`), or has
    it for a CUDA device by its docstring, and asks for none first: torch's are 0 on the CPU, and tdev's count the process there.

    What gives the same whoever is asked is told under `no-difference`.

    Where the name does not speak of CUDA (`torch.load`, `torch.jit.script`, `new_group`), the report says in
    a line why it is tdev's.

    Import forms: `import torch`, `import torch as th`, `import torch.cuda` (the reference
    changes); `import torch.cuda as tc`, `from torch import cuda`, `from torch.cuda import
    Stream as S`, `from torch.cuda.amp import *`, `import torch.distributed as dist` (the import
    changes, see the rule `import`); each of them also inside a function, a condition,
    `try`/`except ImportError` and `if TYPE_CHECKING`. A name that the file binds to something
    else (`torch = FakeTorch()`) is not torch and is left alone.

    In the alias style the reference stays and only the import changes.
    """,
)
NO_DIFFERENCE = rule(
    "no-difference",
    "CUDA's names that give the same whoever is asked",
    "note",
    """
    A count of devices that decides nothing between one and none (`torch.cuda.device_count() > 1`, `max(1, n)`), with the
    question for a device's type that is asked behind it (`device_count() > 1 and device.type == "cuda"`),
    `torch.cuda.device_of`, which does nothing elsewhere, and `torch.cuda.manual_seed` right beside `torch.manual_seed` of
    the same number, which seeds every device, with the question before it. Of the backends beside CUDA only `sim` can
    have several devices, where it is told to. Where a file takes anything else from tdev, these become tdev's with it; by themselves they change no file,
    and each is a note. They do not count where it is decided whether a project is left as a whole.

    What a model of transformers does `if self.model_parallel:`, when it lies on several devices, stays.
    """,
)
ARGUMENT = rule(
    "device-argument",
    "Torch functions that are given a device",
    None,
    """
    `torch.zeros(3, device="cuda")` asks for CUDA whatever there is, and tdev never patches
    torch's own functions, so the call goes through tdev's: `tdev.zeros(3, device="cuda")`.
    The device is translated when the call is made. The literal therefore stays what it is, a
    `str`, and so does every variable, parameter default, dataclass field and argparse default
    that holds it: nothing is decided at import, f-strings print what they printed, and a
    function that expects a string still gets one.

    A call is left alone when its device cannot be CUDA as far as the file tells: no device,
    `None`, `"cpu"`, `"meta"`, `torch.load` of what can lie on no accelerator (below), the `.device` of a tensor or a module (told by what the function asks of it,
    `x.shape`, or by its name, `model`, `hidden_states`), the object's own `self.device` or
    `_execution_device`, a name annotated `torch.device`, or the result of
    `torch.device(...)`, which is a real device once that call is tdev's. A device that comes in from elsewhere (an unannotated parameter, `args.device`, the
    `.device` of any other object) may be the string `"cuda"` and counts as one. `functools.partial(torch.zeros, device=...)` counts as
    the call it will be.

    The same holds in a file that never mentions CUDA: `torch.zeros(n, device=device)` there is as
    right or wrong as what its callers hand over, and what a person typed (a command line, a YAML
    file) is seen by no tool. Each file is decided by its own text and the rest of its package, which is
    read whichever of its files are given, so that rewriting one file, as pre-commit does, gives what
    rewriting the package gives. A parameter that everybody in the tree gives a real device needs
    nothing, be it a function's, that of a class which keeps it, or of a module's `forward`, called by the
    attribute that holds the module: who calls what is told by names, a
    name that is handed on instead of called may be called with anything, and an annotation or a
    docstring that says `str` is believed. So does the result of a function that returns real devices alone,
    a module's constant that is a `torch.device` wherever its name is set, or an attribute of a class of the file
    that nothing else sets. So is a device that has been refused where it is not there, by torch in a `try`
    (`torch.zeros(1, device=device)`, of which nobody takes the tensor), by a question that stays CUDA's, or by a function of the tree that does so:
    the `try` finds out what torch has, so it stays torch's and is reported under `other-arms`. What a base class in another file annotates as a string, `_device: str`, or keeps
    of what was typed, `self.device = cfg.device`, is none.

    `torch.load` without `map_location` stays where the file shows that nothing in what it loads lies on an accelerator, or that
    this machine has saved it: what a test, a function or each process of a run has saved before, what a data set's `process` makes
    of NumPy's arrays and texts, numbers that a class saves (`{"mean": mean.item()}`), what NumPy takes in the same function (`data["x"].numpy()`), the data of a data set that names no device, which loaders
    ask in processes of their own, a file beside the source in whose bytes
    CUDA is not named, and `training_args.bin`, which holds the options of a run. So does one whose `map_location` comes from nothing
    but a function of the file that gives `"cuda"`, `"mps"` or `"cpu"` as torch says that they are there.

    `torch.device("cuda")` becomes `tdev.device("cuda")`, which gives a real `torch.device`, also in
    the default of a parameter or of a class attribute: it was made when the module is imported, and
    it may go to code that this file does not see. Where such a device is made for data whose type is not known,
    `torch.as_tensor(x, device=torch.device(name))`, the call around it becomes tdev's instead, which narrows NumPy's doubles on MPS. So does
    one on a real device, in a file that takes anything else from tdev, of what is seen to be double by NumPy's default:
    `torch.tensor(np.zeros(3), device=self.device)`.

    Methods and constructors, `.to("cuda")`, `.cuda()`, `x.new_zeros(device="cuda")`,
    `nn.Linear(4, 4, device="cuda")`, are not touched by the tdev styles: see `tdev-import`.
    """,
)
PRIVATE = rule(
    "private-name",
    "Private names of `torch.cuda`",
    "warning",
    """
    `torch.cuda._lazy_init` and other names that start with an underscore (also
    `torch._C._cuda_*`) belong to torch and are not mirrored. Left alone and reported; so is what follows a call
    of `torch.cuda._lazy_init` in its block, for that fails off CUDA. A file that imports `torch._six` is left whole: no
    torch that tdev runs on has it.
    """,
)
