import torch

größe = "größer als cuda 🚀"; torch.cuda.synchronize()  # 测试
x = torch.zeros(3, device="cuda")
