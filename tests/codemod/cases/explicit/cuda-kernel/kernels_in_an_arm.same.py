import torch


def locations(cache: torch.Tensor, lengths):
    if cache.is_cuda and lengths is not None:
        from serving.kernels.ops.locations import committed

        return committed(cache, lengths)
    return torch.where(lengths > 0, cache, -1)


def hashed(tensors):
    # on the GPU: concatenated, and hashed by Triton
    if any(isinstance(t, torch.Tensor) and t.is_cuda for t in tensors):
        return hash_all(torch.cat(tensors))
    return [hash(bytes(t.numpy())) for t in tensors]


def warm_up(device):
    """Run once what is compiled on its first use.

    The copying kernel's compile and load would hold up the first request.
    """
    if torch.device(device).type != "cuda":
        return
    copy_pages(torch.zeros(2))


def share(x: torch.Tensor):
    if x.is_cuda:
        return x.untyped_storage()._share_cuda_()
    return x.numpy()
