import torch


def generators(seeds):
    found = {}
    if torch.accelerator.is_available():
        for index in range(torch.accelerator.device_count()):
            found[f"cuda:{index}"] = seeds[index]
        found = {"cuda": found, "device": "cuda"}
        device = torch.accelerator.current_accelerator().type
        run(device, torch.accelerator.current_accelerator().type, name="cuda")
    return found
