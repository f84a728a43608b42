import tdev
import torch

w = tdev.hann_window(16, device="cuda")
f = tdev.fft.rfftfreq(8, device="cuda")
g = tdev.as_tensor([1, 2], device="cuda")
s = tdev.sparse_coo_tensor(i, v, device="cuda")
p = tdev.testing.make_tensor((2,), dtype=torch.float32, device="cuda")
q = tdev.signal.windows.hann(5, device="cuda")
