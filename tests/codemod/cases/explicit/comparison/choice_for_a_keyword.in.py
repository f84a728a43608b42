import torch


def run(device: torch.device, model, loader, criterion, optimizer, epochs):
    # The longest of the lines of this file are as long as black's are by default, eighty-
    # eight columns, of which there are two, so that it is clear that this is their length.
    runner = Runner()
    runner.train(
        engine=runner.gpu_engine() if str(device) == "cuda" else runner.cpu_engine(),
        model=model,
        loader=loader,
    )
    return runner, criterion, optimizer, epochs
