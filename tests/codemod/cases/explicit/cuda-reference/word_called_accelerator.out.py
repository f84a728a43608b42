import tdev


def infer(model, loader, conf):
    accelerator = "cuda" if tdev.cuda.is_available() else "cpu"
    return model.to(accelerator)(loader)


def infer_by_parts(model, loader):
    if tdev.cuda.is_available():
        accelerator = "cuda"
        devices = 1
    else:
        accelerator = "cpu"
        devices = 1
    return model.to(accelerator)(loader)


def clear():
    tdev.cuda.empty_cache()
