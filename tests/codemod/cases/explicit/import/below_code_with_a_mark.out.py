import sys

sys.setrecursionlimit(5000)

import numpy as np  # noqa: E402
import tdev  # noqa: E402
import torch  # noqa: E402, I001
from tdev import cuda  # noqa: E402
from torch import nn  # noqa: E402

tdev.cuda.synchronize()
cuda.empty_cache()
print(nn.Linear, np.ones(1), torch.ones(1))
