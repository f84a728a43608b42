import tdev as torch

use = "cuda" if torch.cuda.is_available() else "cpu"


def load(path, device, device_type):
    if torch.is_accelerator(device, exact=True):
        device = f"cuda:{torch.cuda.current_device()}"
    if not torch.is_accelerator(device, exact=True) and torch.is_accelerator(
        str(device).split(":")[0]
    ):
        print(
            device,
            torch.is_accelerator(device_type),
            not torch.is_accelerator(device, exact=True),
        )
    print(use == "cuda")
    return torch.load(path, map_location=device)
