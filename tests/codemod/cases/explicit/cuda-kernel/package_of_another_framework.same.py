import torch

MACOS = False


def export():
    check_requirements(f"tensorflow{'' if torch.cuda.is_available() else '-macos' if MACOS else '-cpu'}")
    name = "onnxruntime" + ("-gpu" if torch.cuda.is_available() else "")
    check_requirements(name)
