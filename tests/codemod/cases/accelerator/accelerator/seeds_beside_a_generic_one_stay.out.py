import random

import torch


def set_seed(seed):
    random.seed(seed)
    torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
        torch.backends.cudnn.deterministic = True
    torch.backends.cuda.matmul.allow_tf32 = True


def main():
    set_seed(1)
    device = torch.device(
        torch.accelerator.current_accelerator().type
        if torch.accelerator.is_available()
        else "cpu"
    )
    net = torch.nn.Linear(2, 2).to(device)
    print(net(torch.randn(2, 2, device=device)))


main()
