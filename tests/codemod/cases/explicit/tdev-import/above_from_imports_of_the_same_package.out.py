import numpy as np
import tdev  # noqa: F401 (lets .cuda() and .to("cuda") run anywhere)
from numpy import ndarray
from torch import device, eye
from torch.autograd import no_grad


@no_grad()
def shown(layer: object) -> ndarray:
    return np.asarray(layer.cuda()(eye(3), device("cpu")))
