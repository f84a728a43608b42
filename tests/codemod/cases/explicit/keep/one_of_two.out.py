import tdev
import torch

torch.cuda.synchronize()  # tdev: keep
tdev.cuda.empty_cache()
y = torch.zeros(
    3,
    device="cuda",  # tdev: keep
)
text = "# tdev: keep"; tdev.cuda.init()
