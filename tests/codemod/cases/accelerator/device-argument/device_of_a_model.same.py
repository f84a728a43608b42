import torch

def forward(model, ids):
    device = next(model.parameters()).device
    position = torch.arange(ids.shape[1], device=device)
    mask = torch.ones(ids.shape, device=ids.device)
    return model(ids, position, mask)
