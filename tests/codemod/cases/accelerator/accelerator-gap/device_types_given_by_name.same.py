from functools import partial

import torch
from torch.amp import custom_fwd
from torch.distributed._tensor import DeviceMesh
from torch.distributed._tensor.device_mesh import init_device_mesh

forward = partial(custom_fwd, device_type="cuda")
backward = partial(torch.amp.custom_bwd, device_type="cuda")
mesh = init_device_mesh("cuda", (2,))
other = DeviceMesh("cuda", [0, 1])
