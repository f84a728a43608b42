def run(model):
    import torch.nn.utils.prune

    torch.nn.utils.prune.random_unstructured(model, "weight", 0.5)
    return torch.zeros(3, device="cuda"), model
