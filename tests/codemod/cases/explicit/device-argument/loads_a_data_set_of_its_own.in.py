import os
import pickle

import torch
from torchvision import datasets


class Digits:
    files = ("training.pt", "test.pt")

    def __init__(self, root, train, device="cuda"):
        self.root, self.training_file, self.test_file = root, *self.files
        self.prepare()
        name = self.training_file if train else self.test_file
        self.data, self.targets = torch.load(os.path.join(self.root, name))
        self.data = self.data.to(device)

    def prepare(self):
        with open(os.path.join(self.root, "digits.pkl"), "rb") as f:
            images = pickle.load(f)
        labels = datasets.MNIST(root=self.root, train=True, download=True).targets
        training_set = (torch.ByteTensor(images[b"train"]), labels)
        test_set = (torch.from_numpy(images[b"test"]).view(-1, 28, 28), read_labels(self.root))
        with open(os.path.join(self.root, self.training_file), "wb") as f:
            torch.save(training_set, f)
        with open(os.path.join(self.root, self.test_file), "wb") as f:
            torch.save(test_set, f)


def read_labels(path):
    with open(path, "rb") as f:
        return torch.frombuffer(f.read(), dtype=torch.uint8).long()


class Features:
    def __init__(self, root, model):
        self.root, self.training_file, self.model = root, "features.pt", model

    def load(self):
        return torch.load(os.path.join(self.root, self.training_file))

    def prepare(self, images):
        with open(os.path.join(self.root, self.training_file), "wb") as f:
            torch.save(self.model(images).view(-1), f)
