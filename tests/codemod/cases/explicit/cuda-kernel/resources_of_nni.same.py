import torch


def settings():
    return {"trialGpuNumber": torch.cuda.device_count(), "trialConcurrency": 1}
