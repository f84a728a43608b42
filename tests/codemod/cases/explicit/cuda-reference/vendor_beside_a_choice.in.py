import torch


def main(args, model):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    name = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "cpu"
    if "Tesla" in name:
        args.batch = 64
    return model.to(device)
