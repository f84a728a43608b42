import tdev
import torch


def arrays(path, key=None):
    data = torch.load(path)
    if torch.is_tensor(data):
        return data.numpy()
    return data.get(key)[:].numpy()


def moved(path):
    data = tdev.load(path)
    return data.cpu().numpy()


def handed_on(path, net):
    data = tdev.load(path)
    net.load_state_dict(data["net"])
    return data["mean"].numpy()


def given_back(path, gpu):
    data = tdev.load(path)
    if gpu:
        return data["emb"]
    return data["emb"].numpy()
