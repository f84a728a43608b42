import torch
import torch.nn.functional as F


def attend(q, k, v):
    if q.device.type != "cuda":
        return F.scaled_dot_product_attention(q, k, v)
    return flash_attn_func(q, k, v)


def export(model, device, allow_flash):
    if allow_flash and device.type == "cuda":
        model.attention = "memory"
    convert(model, gpu=device.type == "cuda")  # the converter's runtime is CUDA-only
    package = "faiss-gpu" if device.type == "cuda" else "faiss-cpu"
    if WITH_CUDA_HASH_MAP and model.key.is_cuda:
        return package, CUDAHashMap(model.key)
    return package
