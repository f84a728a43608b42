import torch


def measure(stats, device):
    if torch.cuda.is_available():
        stats["memory"] = torch.cuda.memory_stats(device)
    if torch.cuda.is_available():
        stats["all"] = torch.cuda.memory_stats()


def of_a_number(rank, device: int):
    if torch.cuda.is_available():
        print(torch.cuda.max_memory_allocated(rank))
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats(device)


def of_its_own(stats):
    device = torch.device("cuda")
    if torch.cuda.is_available():
        stats["memory"] = torch.cuda.memory_stats(device)
