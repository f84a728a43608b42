def build():
    import torch
    from transformers import AutoModel

    dtypes = (torch.float16, torch.bfloat16)

    def forward(query: "torch.Tensor", mask):
        if query.is_cuda and query.dtype in dtypes and query.shape[0] > 1:
            return AutoModel.fast(query)
        return query

    return forward


def lazily(query):
    import torch

    return torch.softmax(query, -1) if query.is_cuda else query.sum(-1)
