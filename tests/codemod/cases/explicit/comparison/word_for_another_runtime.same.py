import os

import onnxruntime as ort


class Encoder:
    def __init__(self, path, device=None):
        import torch

        if not device:
            device = "cuda" if torch.cuda.is_available() else "cpu"
        self._device = device
        providers = ["CPUExecutionProvider"]
        if self._device.startswith("cuda"):
            providers.insert(0, "CUDAExecutionProvider")
        if not self._device.startswith("cuda") and "OMP_NUM_THREADS" not in os.environ:
            torch.set_num_threads(4)
        self.session = ort.InferenceSession(path, providers=providers)
