import tdev

state = tdev.load("model.pt", weights_only=True)
