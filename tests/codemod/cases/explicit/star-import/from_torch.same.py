from torch import *

cuda.synchronize()
