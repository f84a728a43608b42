import tdev as torch

ok = torch.is_accelerator(
    torch.device("cuda", torch.cuda.current_device()).type
)
x = torch.ones(1)
