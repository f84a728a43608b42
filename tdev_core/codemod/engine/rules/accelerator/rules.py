"""Defines the two rules of ``--target accelerator``: what is rewritten, and what is listed."""

from __future__ import annotations

from tdev_core.codemod.engine.rules._make import rule

ACCELERATOR = rule(
    "accelerator",
    "Generic APIs instead of CUDA's (`--target accelerator`)",
    None,
    """
    Rewrites to `torch.accelerator` and other generic names, with no dependency on tdev:

    - `torch.cuda.synchronize()` becomes `torch.accelerator.synchronize()`, and so on for every
      name that has an equivalent in torch 2.13 (the table is checked against the installed
      torch when it is generated). Keyword arguments become positional where the generic
      function takes them only so.
    - `.cuda()` becomes `.to(torch.accelerator.current_accelerator())`, which also does the
      right thing where there is none (`.to(None)` stays on the CPU); a literal in
      `.to("cuda")`, `device="cuda"` or `torch.device("cuda")` becomes the same expression.
    - a string that is chosen by `torch.cuda.is_available()`, or by a variable that keeps its
      answer, stays a string:
      `"cuda" if torch.cuda.is_available() else "cpu"` becomes
      `torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else
      "cpu"`.
    - `torch.device(f"cuda:{rank}")` and `torch.device("cuda", rank)` take the type from the
      current accelerator and keep the index; so do `"cuda:%d" % rank`, `"cuda:{}".format(rank)` and
      `"cuda:" + str(rank)`, as an f-string.
    - `with torch.cuda.stream(s)` becomes `with s`, when `s` is certainly a stream and the file
      hands no stream to CUDA graphs or to other code that wants CUDA's own class.
    - `torch.cuda.is_available()` stays when it guards a name that only CUDA has
      (`torch.cuda.get_device_name(0) if torch.cuda.is_available() else "CPU"`), a test or an
      error that speaks of CUDA, or stands beside a comparison with `"cuda"`; what is inside a
      call or an f-string that stays is left with it.
    - a question and what it decides about change together or not at all: an arm, what follows an
      early exit (`return`, `raise`, `sys.exit`, `pytest.skip`) or an `assert`, a loop over
      `range(torch.cuda.device_count())`, a decorated test, and what asks a variable or a function
      that gives the answer. `torch.cuda.device_count()` is such a question. What a function of the
      file does that an arm calls is part of the arm, and a private function, or one of a script or a
      test, that is only called where CUDA itself is demanded stays with the demand.
    - `device.type == "cuda"`, and `x.is_cuda` of a tensor, become
      `torch.accelerator.is_available() and device.type == torch.accelerator.current_accelerator().type`
      where what they decide about changes as a whole; behind `torch.accelerator.is_available() and` without
      the first half, which keeps `None` from being asked for its type. Where no arm says that any
      accelerator will do, the question stays.
    - an arm that only CUDA reaches (`device == "cuda"`, `x.is_cuda`, `backend == "nccl"`), the rest of a
      condition that stays, and a function that is CUDA's by its name, its decorators or what it asserts
      stay whole; so do a module named after CUDA, the arms beside those for other accelerators, what a
      docstring's first line calls CUDA's, and a function that works with NVIDIA's tools or starts NCCL. So
      does what comes to a name that raises elsewhere in any case: the block of `torch.cuda.get_device_properties(0)`,
      the body of `with torch.cuda.stream(s)`. A
      patched name changes where the file asks for it itself. A question whose arms print
      a message that says CUDA stays as well, one that is kept or printed under such a name
      (`("CUDA available", torch.cuda.is_available())`), and one that decides about settings of cuDNN alone.
      So does what works on the CPU and would fail on some accelerator: the device of a tensor that a collective
      takes (gloo knows the CPU and CUDA), and a test of float64, which MPS has not.
    - a function that goes on naming CUDA's device (`target_device = "cuda:0"`, `init_device_mesh("cuda", …)`) stays,
      and so does a file of tests in which one stays; the questions of one function are answered alike. So do a
      question asked under a name that says CUDA where other files ask it, one that decides for Lightning's `"gpu"`,
      and one beside words about cuDNN or a `torch.double` that MPS has not.
    - streams and events change where the file shows that they stay among torch's own: a local
      variable, a method of theirs, an argument of torch's. `comm.send(x,
      stream=torch.cuda.current_stream())`, an attribute and a return value may reach code that asks
      for `.cuda_stream`, which `torch.Stream` does not have.
    - `torch.cuda.empty_cache()` and the questions about memory do nothing where there is no
      CUDA, and `torch.accelerator`'s raise where there is no accelerator. They change where a
      test stands around or before them, or the code beside them needs an accelerator anyway. Nor is
      `None`, which stands for no accelerator, the CPU everywhere: `.to_empty(device=None)` stays on
      `meta`, and it is no context and has no `.type`.

    A function, or a script, that needs the accelerator more than once asks for it once (`device =
    torch.accelerator.current_accelerator()`), or takes the variable in which it is kept already. No line
    becomes longer than the project lets it be (black's, ruff's, flake8's or the editor's setting, else the
    file's longest line): it is broken as a formatter would, or left and reported. Of two statements that
    become the same, because two of CUDA's names have one equivalent, one stays.

    Import forms: references through `import torch`, `import torch as th`, `import torch.cuda`;
    and `from torch.cuda import synchronize` when every name of the statement exists in
    `torch.accelerator` under the same name.
    """,
)

GAP = rule(
    "accelerator-gap",
    "CUDA names without a generic equivalent (`--target accelerator`)",
    "warning",
    """
    What torch 2.13 has no generic spelling for is left as it is and listed: names without an
    equivalent, arguments that the equivalent does not take, `"cuda"` in variables, defaults, lists
    and arguments that no availability test guards, autocast's and GradScaler's device type (which
    has to be the type of the device at hand), devices with an index that are made when a module is
    imported, names of tensor types, and `"nccl"`.
    """,
)
