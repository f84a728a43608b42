import torch


def compile_engine(device, model):
    torch.cuda.set_device(device)
    trt, _ = optional_import("tensorrt")
    return trt.Builder(model)
