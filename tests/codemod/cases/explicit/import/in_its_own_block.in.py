import contextlib

import transformers.utils.generic as g

if not hasattr(g, "compute_default_rope"):
    import torch

    g.rope = lambda x: torch.ones(x)
if not hasattr(g, "maybe_autocast"):
    import torch

    @contextlib.contextmanager
    def maybe_autocast(enabled=True):
        if enabled and torch.cuda.is_available():
            with torch.autocast("cuda"):
                yield
        else:
            yield

    g.maybe_autocast = maybe_autocast
