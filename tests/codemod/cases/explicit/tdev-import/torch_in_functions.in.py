def load(model):
    import torch

    return [model.to(torch.float32), *(part.cuda() for part in model.parts)]


def clear(x):
    import torch

    torch.cuda.empty_cache()
    return x.cuda()


def run(model, batch):
    return model(batch.cuda())
