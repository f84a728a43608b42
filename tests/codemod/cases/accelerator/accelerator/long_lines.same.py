import torch


def place(model, rank, second, third):
    chosen = torch.device("cuda" if torch.cuda.is_available() else "cpu", rank)
    kept = torch.zeros(1, device="cuda:1" if torch.cuda.is_available() else None)
    if torch.cuda.is_available() and rank == 0 and second.shape[0] > third.shape[0]:
        torch.cuda.synchronize()
    return model.to(chosen), kept, torch.cuda.device_count(), torch.cuda.device_count()


def nested(model, second, third):
    return model.run(
        second.shape[0] if second is not None else model.fit(third, "cuda", model.cuda(), 1, 2),
    )
