import tdev


def export(model, device="cpu"):
    """Export a model; ``device`` may be "cuda:0"."""
    if tdev.is_accelerator(device, exact=True):
        model = model.cuda()
    return model


def local(model):
    device = "cuda" if tdev.cuda.is_available() else "cpu"
    return model.half() if device == "cuda" else model
