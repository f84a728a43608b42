import torch


def prepare(model, devices):
    for device in devices:
        context = model.context(device)
        torch.cuda.set_stream(context.stream)
        torch.cuda.current_stream().wait_stream(context.stream)
