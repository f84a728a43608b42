import lightning as L
import tdev
import torch


def generate(model, prompt, devices="cuda"):
    fabric = L.Fabric(devices=1, accelerator="cuda")
    model = fabric.setup(model)
    print(model(prompt))
    print(f"Memory used: {torch.cuda.max_memory_allocated() / 1e9:.02f} GB")


def free():
    tdev.cuda.empty_cache()
