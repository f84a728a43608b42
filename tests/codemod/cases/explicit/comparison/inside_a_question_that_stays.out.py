import tdev
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
    if not tdev.is_accelerator(device_type):
        if tdev.is_accelerator(indices.device.type):
            return storage[indices.cpu()]
    return storage
