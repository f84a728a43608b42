import torch

FIRST = torch.device("cuda", index=0)
SECOND = torch.device("cuda:1")
ANY = torch.device("cuda")


def make(rank):
    return torch.device("cuda", rank), torch.device("cuda:1")


if __name__ == "__main__":
    print(torch.device("cuda:0"))
