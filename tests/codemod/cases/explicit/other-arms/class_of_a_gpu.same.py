import torch
from torch import nn


class Predictor(nn.Module):
    def forward(self, heatmaps, size):
        pose_ind, scores = self.get_top_values(heatmaps)
        return torch.arange(size, device=pose_ind.device)[:, None]

    def get_top_values(self, heatmap: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.topk(heatmap, 3)


def get_device(device):
    from devices import DeviceCPU, DeviceGPU, DeviceMPS

    if not device:
        device = DeviceGPU() if torch.cuda.is_available() else DeviceCPU()
    elif device == "mps":
        device = DeviceMPS()
    return device

