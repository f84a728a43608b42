# ruff: noqa
"""Private modules that ``import torch`` alone makes attributes of."""

import torch

torch._dynamo.config.cache_size_limit = 64
torch._dynamo.reset(1)
reveal_type(torch._C._get_tracing_state)
reveal_type(torch._dynamo.config.cache_size_limit)
reveal_type(torch._subclasses.FakeTensorMode.from_tensor)
