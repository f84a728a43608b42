import torch


def pick(slow):
    with_cuda = torch.cuda.is_available()
    if with_cuda or has_npu():
        provider = torch.cuda if with_cuda else torch.npu
        place = max(range(provider.device_count()), key=provider.memory_reserved)
        return provider._get_device(place)
    elif torch.backends.mps.is_available():
        return torch.device("mps" if slow else "cpu")
    return torch.device("cpu")
