import torch


def facts():
    found = {}
    found["torch_cuda_available"] = torch.cuda.is_available()
    if torch.cuda.is_available():
        found["torch_cuda_count"] = torch.cuda.device_count()
        found["torch_cuda_name"] = torch.cuda.get_device_name(0)
    return found
