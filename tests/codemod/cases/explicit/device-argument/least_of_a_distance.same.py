import torch


def matched(metric, preds, thresholds):
    distances = metric(preds)
    best, _ = distances.min(1)
    return best < torch.tensor(thresholds, device=distances.device)
