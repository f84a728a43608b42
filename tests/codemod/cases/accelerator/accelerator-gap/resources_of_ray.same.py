import torch


def resolve(ray_options):
    ray_options.gpus = min(1, torch.cuda.device_count())
