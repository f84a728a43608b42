import torch


def generators(seeds):
    found = {}
    if torch.accelerator.is_available():
        for index in range(torch.accelerator.device_count()):
            found[f"cuda:{index}"] = seeds[index]
        found = {"cuda": found, "device": "cuda"}
        accelerator = torch.accelerator.current_accelerator()
        device = accelerator.type
        run(device, accelerator.type, name="cuda")
    return found
