import os
import pickle

import tdev
import torch


class Pictures:
    TRAIN = "training.pt"
    TEST = "test.pt"

    def __init__(self, folder, train):
        self.folder = folder
        self._prepare()
        name = self.TRAIN if train else self.TEST
        self.data, self.labels = torch.load(os.path.join(self.folder, name))

    def _read(self, name):
        with open(os.path.join(self.folder, name), "rb") as file:
            rows = pickle.load(file)
        return torch.tensor(rows["data"]), torch.tensor(rows["labels"])

    def _prepare(self):
        torch.save(self._read("test"), os.path.join(self.folder, self.TEST))
        data, labels = [], []
        for number in range(5):
            some, theirs = self._read(f"batch_{number}")
            data.append(some)
            labels.append(theirs)
        data = torch.cat(data)
        labels = torch.cat(labels)
        torch.save((data, labels), os.path.join(self.folder, self.TRAIN))


class States:
    def write(self, model, path):
        torch.save(model.state_dict(), os.path.join(path, "model.pt"))

    def read(self, path):
        return tdev.load(os.path.join(path, "model.pt"))
