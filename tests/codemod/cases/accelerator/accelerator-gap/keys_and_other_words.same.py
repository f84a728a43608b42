import torch


def generators(seeds):
    found = {}
    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            found[f"cuda:{index}"] = seeds[index]
        found = {"cuda": found, "device": "cuda"}
        device = "cuda"
        run(device, "cuda", name="cuda")
    return found
