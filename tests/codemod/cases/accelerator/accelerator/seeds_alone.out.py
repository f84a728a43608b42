import torch

torch.cuda.manual_seed_all(1)
device = (
    torch.accelerator.current_accelerator().type
    if torch.accelerator.is_available()
    else "cpu"
)
net = torch.nn.Linear(2, 2).to(device)
