import tdev as torch

state = torch.load("model.pt", weights_only=True)
