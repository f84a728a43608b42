import tdev

use = "cuda" if tdev.cuda.is_available() else "cpu"


def load(path, device, device_type):
    if tdev.is_accelerator(device, exact=True):
        device = f"cuda:{tdev.cuda.current_device()}"
    if not tdev.is_accelerator(device, exact=True) and tdev.is_accelerator(
        str(device).split(":")[0]
    ):
        print(
            device,
            tdev.is_accelerator(device_type),
            not tdev.is_accelerator(device, exact=True),
        )
    print(use == "cuda")
    return tdev.load(path, map_location=device)
