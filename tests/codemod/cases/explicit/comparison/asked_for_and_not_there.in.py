import torch


def set_up(device, several):
    if device == "cuda" and not torch.cuda.is_available():
        print("no GPU: on the CPU")
        several, device = False, "cpu"
    if device == "cpu":
        return on_cpu(several)
    elif device == "cuda":
        return on_gpu(several)
    else:
        raise ValueError("cpu or cuda")


class Chosen:
    device = "cuda" if torch.cuda.is_available() else "cpu"

    def choose(self, device):
        if "cuda" in device and not torch.cuda.is_available():
            raise ValueError("CUDA is not available")
        if device != "cuda" or torch.cuda.is_available():
            self.device = device


def check(args):
    if args.device.startswith("cuda"):
        if not torch.cuda.is_available():
            raise SystemExit("CUDA was asked for and is not there")
    return torch.zeros(3, device=args.device)
