import tdev as torch


def export(model, device="cpu"):
    """Export a model; ``device`` may be "cuda:0"."""
    if torch.is_accelerator(device, exact=True):
        model = model.cuda()
    return model


def local(model):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return model.half() if device == "cuda" else model
