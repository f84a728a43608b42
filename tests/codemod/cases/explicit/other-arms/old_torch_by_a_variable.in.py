import torch
from package.typing import WITH_PT24
from packaging import version

torch_version = version.parse(torch.__version__)

if torch_version >= version.parse("2.3"):
    from torch.nn.attention import sdpa_kernel as kernels
else:
    kernels = torch.backends.cuda.sdp_kernel


def load(path):
    if WITH_PT24:
        return torch.load(path, weights_only=True)
    else:
        return torch.load(path)
