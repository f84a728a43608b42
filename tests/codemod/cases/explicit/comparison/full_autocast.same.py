import torch


def attend(q, k, streaming):
    if streaming and q.device.type == "cuda":
        with torch.autocast(device_type=q.device.type, dtype=torch.float32):
            return torch.einsum("bqd,bkd->bqk", q, k)
    return torch.einsum("bqd,bkd->bqk", q, k)
