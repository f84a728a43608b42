def place(model, plain):
    """Move a model."""
    if plain:
        import torch

        torch.set_grad_enabled(False)
    model.cuda()
    return model


def place_there(model, plain):
    if plain:
        import torch

        torch.set_grad_enabled(False)
        model.cuda()
    return model


def try_to_place(model):
    try:
        import torch
    except ImportError:
        return None
    torch.set_grad_enabled(False)
    return model.cuda()


def place_by_rank(model, rank, plain):
    for _ in range(plain):
        import torch

        torch.set_grad_enabled(False)
    if rank is None:
        return model
    elif plain or model.cuda():
        model.to(f"cuda:{rank}")
    return model.cuda()
