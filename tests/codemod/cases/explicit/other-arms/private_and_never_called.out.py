import tdev
import torch


class Driver:
    def load(self, path):
        return tdev.load(path)

    def __load_states(self, path):
        states = torch.load(path)
        return states["model"].cuda()

    def __load_optimizer(self, path):
        return tdev.load(path)

    def resume(self, path):
        return self.__load_optimizer(path)

    def __enter__(self):
        tdev.cuda.synchronize()
        return self


def __load_all(paths):
    return [tdev.load(path) for path in paths]
