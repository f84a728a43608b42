import torch


def _time(function, device):
    torch.cuda.synchronize(device)
    function()
    torch.cuda.synchronize(device)


def bench(function, device):
    torch.cuda.synchronize(device)
    _time(function, device)


def also_elsewhere(device):
    torch.cuda.synchronize(device)


def main(device):
    if device.type != "cuda":
        raise SystemExit("a benchmark of CUDA")
    torch.cuda.set_device(device)
    bench(print, device)
    also_elsewhere(device)
    print(torch.cuda.get_device_name(device))


if __name__ == "__main__":
    also_elsewhere(0)
    main(None)
