import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print("use .double() if you want", device)
