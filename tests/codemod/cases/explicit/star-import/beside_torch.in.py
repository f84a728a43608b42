import torch
from .base import *

torch.cuda.empty_cache()
