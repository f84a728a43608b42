import torch


def config(self):
    default = {
        "trialConcurrency": 1,
        "trialGpuNumber": torch.cuda.device_count(),
        "trainingService": {"platform": "local", "useActiveGpu": True},
    }
    return default
