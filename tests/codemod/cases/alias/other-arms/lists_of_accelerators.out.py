import tdev as torch


def plan(device, lora):
    if device.type in ("cuda", "xpu"):
        print("two")
    if lora.device.type not in ["cuda", "xpu", "npu"]:
        print("none")
    return torch.is_accelerator(device.type)
