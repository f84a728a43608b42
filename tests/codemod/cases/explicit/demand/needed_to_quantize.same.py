import torch


class Quantizer:
    def validate_environment(self, device_map):
        if not torch.cuda.is_available():
            raise RuntimeError("No GPU found. A GPU is needed for quantization.")
        prepare(device_map)
