import torch


def train(steps):
    if torch.cuda.is_available() is False:
        raise RuntimeError("training needs CUDA")
    assert torch.cuda.is_available() == True, "no GPU"
    for _ in range(steps):
        torch.zeros(3, device="cuda").sum()


def pick():
    if torch.cuda.is_available() == True:
        return "cuda"
    return "cpu"


if __name__ == "__main__":
    train(3)
