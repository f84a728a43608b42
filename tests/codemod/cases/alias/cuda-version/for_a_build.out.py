import tdev as torch
from torch.utils import cpp_extension


def flags():
    return ["-DNEW"] if int(torch.version.cuda.split(".")[0]) >= 12 else []
