# ruff: noqa
# Submodules that torch's own packages do not import, reached through the name of the package.
import torch
import torch.nn.utils.rnn
import torch.utils.benchmark
import torch.utils.checkpoint
import torch.utils.data

data = torch.utils.data.TensorDataset(torch.zeros(4, 2))
reveal_type(torch.utils.data.DataLoader(data))
reveal_type(torch.utils.checkpoint.checkpoint(torch.neg, torch.zeros(2), use_reentrant=False))
reveal_type(torch.nn.utils.rnn.pad_sequence([torch.zeros(2), torch.zeros(3)]))
reveal_type(torch.utils.benchmark.Timer("1 + 1").timeit(10))
torch.utils.benchmark.Timer(1)
torch.nn.utils.rnn.pad_sequence(3)
