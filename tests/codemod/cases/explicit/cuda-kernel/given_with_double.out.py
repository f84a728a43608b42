import tdev
import torch


def reduced(count, total):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print(device)

    values = [count, total]

    return torch.tensor(values, dtype=torch.float64, device=device).tolist()


def plain(count):
    device = tdev.device("cuda" if tdev.cuda.is_available() else "cpu")
    print(device)

    values = [count]

    return torch.tensor(values, device=device)


def calculated(path, calculator):
    where = "cuda" if torch.cuda.is_available() else "cpu"
    return calculator(path, device=where, default_dtype="float64")
