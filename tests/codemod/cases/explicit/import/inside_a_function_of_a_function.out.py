def build():
    import tdev
    import torch
    from transformers import AutoModel

    dtypes = (torch.float16, torch.bfloat16)

    def forward(query: "torch.Tensor", mask):
        if (
            tdev.is_accelerator(query)
            and query.dtype in dtypes
            and query.shape[0] > 1
        ):
            return AutoModel.fast(query)
        return query

    return forward


def lazily(query):
    import tdev
    import torch

    return (
        torch.softmax(query, -1)
        if tdev.is_accelerator(query)
        else query.sum(-1)
    )
