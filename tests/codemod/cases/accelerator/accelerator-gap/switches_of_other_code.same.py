import faiss
import torch


def clusters(n):
    return faiss.Kmeans(8, n, gpu=True if torch.cuda.is_available() else False)


def patterns(match):
    is_cuda_options = [True, False] if torch.cuda.is_available() else [False]
    return [match(is_cuda=is_cuda) for is_cuda in is_cuda_options]


def example(kwargs, is_cuda):
    if is_cuda:
        kwargs["x"] = kwargs["x"].cuda()
    return kwargs
