import torch

torch.cuda.synchronize()  # noqa: CUDA
torch.cuda.init()  # noqa: E501, CUDA
torch.cuda.empty_cache()  # ignore-cuda: on purpose
seed = torch.cuda.initial_seed  # see above; ignore-cuda

torch.cuda.current_stream()  # noqa: F401
torch.cuda.seed()  # CUDA, noqa
text = "# ignore-cuda"; torch.cuda.seed_all()
