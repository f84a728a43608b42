import tdev
import torch


class Session:
    def load(self, weight):
        cuda = torch.cuda.is_available() and self.device.type != "cpu"
        require("onnxruntime-gpu" if cuda else "onnxruntime")
        return weight


def batch(self):
    cuda = tdev.cuda.is_available()
    return 64 if cuda else 8


def usage(device):
    if device.index is not None and torch.cuda.is_available():
        return check_output(["nvidia-smi", "--query-gpu=memory.used"])
    return None
