import torch

def requirement(model):
    return "onnxruntime-gpu" if "cuda" in model.device.type else "onnxruntime"
