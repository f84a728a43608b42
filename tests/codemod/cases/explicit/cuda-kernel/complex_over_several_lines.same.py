import torch


def phases(n, times):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print(device)

    turns = [each % n for each in times]

    return torch.tensor(
        turns,
        dtype=torch.complex128,
        device=device,
    )
