import torch

w = torch.hann_window(16, device="cuda")
f = torch.fft.rfftfreq(8, device="cuda")
g = torch.as_tensor([1, 2], device="cuda")
s = torch.sparse_coo_tensor(i, v, device="cuda")
p = torch.testing.make_tensor((2,), dtype=torch.float32, device="cuda")
q = torch.signal.windows.hann(5, device="cuda")
