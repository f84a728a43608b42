import sys

sys.setrecursionlimit(5000)

import numpy as np  # noqa: E402
import torch  # noqa: E402, I001
from torch import cuda, nn  # noqa: E402

torch.cuda.synchronize()
cuda.empty_cache()
print(nn.Linear, np.ones(1), torch.ones(1))
