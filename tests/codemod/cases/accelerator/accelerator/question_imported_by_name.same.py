from torch.cuda import is_available
from models import Model


def load(use_cuda=None):
    if use_cuda is None:
        use_cuda = is_available()
    return Model("a", use_cuda=use_cuda)
