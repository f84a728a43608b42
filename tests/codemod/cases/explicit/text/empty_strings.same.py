import torch

x = ["", b"cuda", r"cuda", f"", f"{1}cuda", u"cuda", "cu" "da"]
y = torch.ones(1)
