# ruff: noqa
import torch

torch.backends.cudnn.benchmark = True
torch.backends.cuda.matmul.allow_tf32 = True
torch.set_default_dtype(torch.float32)
torch.use_deterministic_algorithms(1.5)
reveal_type(torch.get_default_dtype())
reveal_type(torch.finfo(torch.float16).max)
reveal_type(torch.Size([1, 2]))
reveal_type(torch.cuda.default_stream)
torch.no_such_name
