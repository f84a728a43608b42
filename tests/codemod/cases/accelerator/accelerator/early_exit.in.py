import torch


def main():
    if not torch.cuda.is_available():
        return
    x = torch.zeros(3).cuda()
    with torch.autocast("cuda"):
        x = x @ x
    torch.cuda.empty_cache()
    torch.cuda.synchronize()
