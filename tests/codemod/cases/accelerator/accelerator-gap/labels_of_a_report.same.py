import torch


def environment():
    rows = [("CUDA Available?", str(torch.cuda.is_available())), ("cuDNN", "9")]
    report = {"cuda_available": torch.cuda.is_available(), "devices": torch.cuda.device_count()}
    report["has cuda"] = torch.cuda.is_available()
    return rows, report


def counted():
    return [("GPU", torch.cuda.is_available())], {"gpus": torch.cuda.device_count()}
