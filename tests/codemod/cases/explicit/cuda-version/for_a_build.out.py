import tdev
from torch.utils import cpp_extension


def flags():
    return ["-DNEW"] if int(tdev.version.cuda.split(".")[0]) >= 12 else []
