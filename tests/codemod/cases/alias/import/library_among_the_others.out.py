import os
import tdev as torch
import time
from collections import OrderedDict
from copy import deepcopy
from torch.nn.parallel import DataParallel


def move(model):
    torch.cuda.synchronize()
    return DataParallel(deepcopy(model)), OrderedDict(), os.getpid(), time.time()
