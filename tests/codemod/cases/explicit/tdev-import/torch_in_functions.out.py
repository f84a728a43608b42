def load(model):
    import tdev  # noqa: F401 (lets .cuda() and .to("cuda") run anywhere)
    import torch

    return [model.to(torch.float32), *(part.cuda() for part in model.parts)]


def clear(x):
    import tdev

    tdev.cuda.empty_cache()
    return x.cuda()


def run(model, batch):
    return model(batch.cuda())
