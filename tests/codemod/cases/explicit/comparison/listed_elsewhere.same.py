import warnings

import torch


class Monitor:
    def init(self, state):
        model_device = next(state.model.parameters()).device
        if model_device.type not in ("cuda", "meta"):
            warnings.warn(f"The monitor only works on CUDA devices, but the model is on {model_device.type}.")

    def after(self, state):
        model_device = next(state.model.parameters()).device
        if model_device.type != "cuda":
            return None
        return torch.cuda.memory_allocated()
