import tdev as torch

torch.cuda.synchronize()  # tdev: keep
torch.cuda.empty_cache()
y = torch.zeros(
    3,
    device="cuda",  # tdev: keep
)
text = "# tdev: keep"; torch.cuda.init()
