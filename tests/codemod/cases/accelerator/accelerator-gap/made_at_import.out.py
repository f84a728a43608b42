import torch

FIRST = torch.device("cuda", index=0)
SECOND = torch.device("cuda:1")
ANY = torch.accelerator.current_accelerator()


def make(rank):
    return torch.device(torch.accelerator.current_accelerator().type, rank), torch.device(f"{torch.accelerator.current_accelerator().type}:1")


if __name__ == "__main__":
    print(torch.device(f"{torch.accelerator.current_accelerator().type}:0"))
