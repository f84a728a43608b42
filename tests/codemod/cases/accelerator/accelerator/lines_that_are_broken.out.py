import torch


def place(model, rank, second, third):
    accelerator = torch.accelerator.current_accelerator()
    chosen = torch.device(
        accelerator.type if torch.accelerator.is_available() else "cpu", rank
    )
    kept = torch.zeros(
        1,
        device=(
            f"{accelerator.type}:1" if torch.accelerator.is_available() else None
        ),
    )
    if (
        torch.accelerator.is_available()
        and rank == 0
        and second.shape[0] > third.shape[0]
    ):
        torch.accelerator.synchronize()
    return model.to(chosen), kept
