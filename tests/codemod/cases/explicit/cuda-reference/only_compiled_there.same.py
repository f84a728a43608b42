import torch
from torch import nn

if __name__ == "__main__":
    model = nn.Linear(8, 8)
    data = torch.randn(3, 8)
    if torch.cuda.is_available():
        model = torch.compile(model)
    print(model(data))
