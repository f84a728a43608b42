import torch

DEVICES = ["cpu"]
if torch.cuda.is_available():
    DEVICES.append("cuda")
OTHERS = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])

DTYPES = [(torch.float32, torch.cfloat), (torch.float64, torch.cdouble)]


def measured(measure):
    return [measure(device, *dtypes) for device in DEVICES + OTHERS for dtypes in DTYPES]
