import torch


def fetch(storage, indices):
    storage_device_type = storage.device.type
    indices_device_type = indices.device.type
    if storage_device_type != "cuda":
        if indices_device_type == "cuda":
            return gather_pinned_tensor_rows(storage, indices)
        return storage[indices]
    return _fetch_cuda(storage, indices)


def plain(storage, indices):
    device_type = storage.device.type
    if device_type != "cuda":
        if indices.device.type == "cuda":
            return storage[indices.cpu()]
    return storage
