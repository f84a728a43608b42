import torch


def report(settings, table):
    there = torch.cuda.is_available()
    if there:
        table.add(torch.cuda.get_device_name(0))
    elif settings.device == "cuda":
        table.fail("an accelerator is asked for, and there is none")


def move(settings, model):
    if settings.device == "cuda":
        model.to("cuda")
