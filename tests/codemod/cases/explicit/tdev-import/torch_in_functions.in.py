def load(model):
    import torch

    return [model.to(torch.float32), *(part.cuda() for part in model.parts)]


def clear(x):
    import torch

    torch.cuda.empty_cache()
    return x.cuda()


def run(model, batch):
    return model(batch.cuda())


class Wrapper:
    def __init__(self, device=None):
        import torch

        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")

    def run(self, model, x):
        import torch

        return model(x.to("cuda"), torch.no_grad)


class Half:
    def __init__(self, device: str):
        self.half = device == "cuda"

    def run(self, model, x):
        import torch

        return model(x.to("cuda"), torch.no_grad)
