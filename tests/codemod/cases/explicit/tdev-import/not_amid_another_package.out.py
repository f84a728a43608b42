import numpy as np

from matplotlib import ticker
from matplotlib.figure import Figure
from matplotlib.axes import Axes
from numpy import ndarray
import tdev  # noqa: F401 (lets .cuda() and .to("cuda") run anywhere)
from torch import device, eye
from torch.autograd import no_grad


@no_grad()
def shown(layer: object, axes: Axes) -> tuple[Figure, ndarray]:
    ticker.FixedLocator(np.ones(3))
    return axes.figure, layer.cuda()(eye(3), device("cpu"))
