"""Defines the two rules of ``--target accelerator``: what is rewritten, and what is listed."""

from __future__ import annotations

from tdev_core.codemod.engine.rules._make import rule

ACCELERATOR = rule(
    "accelerator",
    "Generic APIs instead of CUDA's (`--target accelerator`)",
    None,
    """
    Rewrites to `torch.accelerator` and other generic names, with no dependency on tdev. What it writes needs
    torch 2.6, and 2.9 for what is asked about memory.

    **A device flow changes whole, or it stays as it is.** A flow is the functions and classes of a file that reach each
    other by name, with what stands outside of them. Nothing in one that has changed uses what CUDA alone has, in code;
    a comment, a docstring or a name may go on saying CUDA. A flow in which that cannot be done is left, and reported
    by the rule `accelerator-gap` with the line that decides. The rest of the file changes.

    What has an exact generic spelling:

    - `torch.cuda.synchronize()` becomes `torch.accelerator.synchronize()`, and so on for every
      name that has an equivalent in torch 2.13 (the table is checked against the installed
      torch when it is generated). Keyword arguments become positional where the generic
      function takes them only so.
    - `.cuda()` becomes `.to(torch.accelerator.current_accelerator())`, which also does the
      right thing where there is none (`.to(None)` stays on the CPU); a literal in
      `.to("cuda")`, `device="cuda"` or `torch.device("cuda")` becomes the same expression.
    - a string that is chosen by `torch.cuda.is_available()` or `device_count()`, or by a variable that keeps
      the answer, stays a string: `"cuda" if torch.cuda.is_available() else "cpu"` becomes
      `torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"`.
    - behind such a question, `torch.device(f"cuda:{rank}")` and `torch.device("cuda", rank)` take the type from
      the current accelerator and keep the index; so do `"cuda:%d" % rank`, `"cuda:{}".format(rank)` and
      `"cuda:" + str(rank)`, as an f-string.
    - `with torch.cuda.stream(s)` becomes `with s`, when `s` is certainly a stream and the file
      hands no stream to CUDA graphs or to other code that wants CUDA's own class.
    - `device.type == "cuda"`, and `x.is_cuda` of a tensor, become
      `torch.accelerator.is_available() and device.type == torch.accelerator.current_accelerator().type`
      where something of what they decide about changes, and nothing moves; behind `torch.accelerator.is_available() and` without
      the first half, which keeps `None` from being asked for its type.
    - a patched name (`mock.patch("torch.cuda.is_available")`), where the file asks for it itself.

    A function, or a script, that needs the accelerator more than once asks for it once (`device =
    torch.accelerator.current_accelerator()`), or takes the variable in which it is kept already. No line
    becomes longer than the project lets it be (black's, ruff's, flake8's or the editor's setting, else the
    file's longest line): it is broken as a formatter would, or its flow is left. Of two statements that
    become the same, because two of CUDA's names have one equivalent, one stays.

    Import forms: references through `import torch`, `import torch as th`;
    and `from torch.cuda import synchronize` when every name of the statement exists in
    `torch.accelerator` under the same name.
    """,
)

GAP = rule(
    "accelerator-gap",
    "Device flows that go on naming CUDA (`--target accelerator`)",
    "warning",
    """
    Each thing that torch 2.13 has no generic spelling for is listed, with what to write: names without an
    equivalent, arguments that the equivalent does not take, `"cuda"` in variables, defaults, lists
    and arguments that no availability test guards, autocast's and GradScaler's device type (which
    has to be the type of the device at hand), devices with an index that nothing says are there
    (`torch.accelerator.current_accelerator()` is None where there is none, and has no type), names of
    tensor types, and `"nccl"`.

    A device flow with one of them is left whole, and one finding for each of its functions and classes in which
    something else would have changed says why. So is a function or class

    - that is called after CUDA, or whose test goes on asking for a GPU;
    - that asks for any accelerator by then and says CUDA in a message, or in a docstring that tells a default or a
      demand, or says a name of `torch.cuda` in a message. Settings such as `torch.backends.cudnn.benchmark = True`, which do nothing elsewhere, may stay;
    - that holds a question for CUDA which stays, where that opens what would change;
    - that names another accelerator (`mps`, `xpu`, …): somebody has thought of more than one there;
    - of a file that is called after CUDA or another vendor, or lies in a folder of kernels, or that goes on demanding
      CUDA where it is imported (`assert torch.cuda.is_available(), "CUDA is required"`);
    - that uses a package that knows CUDA and the CPU alone, or gives its device to one that is neither torch's
      nor of the tree;
    - that asks for CUDA, and belongs to a process group (`torch.distributed`, DDP, FSDP), whose backend decides about
      devices, or computes in double precision, which MPS has not. Code that needs CUDA as it is, without a question,
      ran nowhere else, and is not held by these;
    - that uses a function or class of another file which goes on taking tensors to CUDA, however many files lie
      between; and, where it asks for CUDA, one that names CUDA at all or computes in double precision, or is used by
      such a one, or shares a switch such as `use_gpu` with it;
    - whose devices would be mixed: it takes a device by its number (`.to(0)`), or moves something where it has the
      device of something else, of `self` or of its caller; moves what another package makes, or a dtype that it
      does not show;
    - that is a layer (`forward`), and would choose a device which nothing moves the layer to;
    - that shares a variable of the module, which one of them sets by `global`, with a function that stays;
    - that would use torch above its import;
    - that would ask `current_accelerator()` for its type, in a project with a type checker: it may be None there; or
      write what needs torch 2.9 where the project says that it takes an older one. Where it takes one older than
      2.6, that is said at the end of the run;
    - whose streams or events go where they cannot be followed: `comm.send(x, stream=torch.cuda.current_stream())`,
      an attribute, a return value. `torch.Stream` has no `.cuda_stream`;
    - that calls `torch.cuda.empty_cache()`, or asks about memory, with no test around or before it:
      `torch.accelerator`'s raise where there is no accelerator, CUDA's do nothing;
    - where `None` is not the CPU: `.to_empty(device=None)` stays on `meta`, and it is no context.
    """,
)
