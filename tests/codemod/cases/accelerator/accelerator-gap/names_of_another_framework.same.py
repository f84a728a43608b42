import torch


def features(video):
    device = "/gpu:0" if torch.cuda.is_available() else "/cpu:0"
    return extract(video, device=device)
