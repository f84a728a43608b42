import torch

FIRST = torch.device("cuda", index=0)
SECOND = torch.device("cuda:1")
ANY = torch.accelerator.current_accelerator()


def make(rank):
    accelerator = torch.accelerator.current_accelerator()
    return (
        torch.device(accelerator.type, rank),
        torch.device(f"{accelerator.type}:1"),
    )


if __name__ == "__main__":
    print(torch.device(f"{ANY.type}:0"))
