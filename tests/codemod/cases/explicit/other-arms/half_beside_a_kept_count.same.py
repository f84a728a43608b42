import torch


def auto(model, backend, device: torch.device):
    if torch.cuda.is_available() and backend == "hvd":
        model = wrapped(model)
    elif backend == "xla-tpu" or has_xla_support:
        model = model.to("xla")
    if torch.cuda.device_count() > 1 and "cuda" in device.type:
        model = torch.nn.parallel.DataParallel(model)
    return model
