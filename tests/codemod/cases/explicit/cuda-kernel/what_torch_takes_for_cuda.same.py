import torch


def align(cov, model):
    u, s, v = torch.linalg.svd(cov, driver="gesvd" if cov.is_cuda else None)
    w = torch.linalg.svdvals(cov, driver="gesvd" if cov.device.type == "cuda" else None)
    x = torch.linalg.lstsq(cov, w, driver="gels" if torch.cuda.is_available() else None)
    optimizer = torch.optim.AdamW(model.parameters(), capturable=torch.cuda.is_available())
    return u, s, v, w, x, optimizer


def kernels(stage):
    if stage == "predict" and not (
        torch.cuda.is_available()
        and torch.cuda.get_device_properties(torch.device("cuda")).major >= 8.0
    ):
        return False
    return True


def reproducible(contextlib):
    if torch.cuda.is_available() and not hasattr(torch.backends.cudnn, "flags"):
        torch.backends.cudnn.deterministic = True
    return torch.backends.cudnn.flags(benchmark=False) if torch.cuda.is_available() else contextlib.nullcontext()
