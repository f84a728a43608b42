def tree(edges):
    if edges.is_cuda:
        raise NotImplementedError("trees do not support cuda tensors")
    return edges.view(3)
