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


class Wrapper:
    def __init__(self, device=None):
        import tdev

        self.device = device or ("cuda" if tdev.cuda.is_available() else "cpu")

    def run(self, model, x):
        import torch

        return model(x.to("cuda"), torch.no_grad)


class Half:
    def __init__(self, device: str):
        import tdev

        self.half = tdev.is_accelerator(device, exact=True)

    def run(self, model, x):
        import torch

        return model(x.to("cuda"), torch.no_grad)
