import torch
from thinc.api import PyTorchShim, get_torch_default_device
from thinc.util import get_torch_default_device as of_the_backend


class Shim(PyTorchShim):
    def from_bytes(self, filelike):
        device = get_torch_default_device()
        self._model.load_state_dict(torch.load(filelike, map_location=device))
        self._mask = torch.zeros(3, device=of_the_backend())
        self._model.to(device)
        return self
