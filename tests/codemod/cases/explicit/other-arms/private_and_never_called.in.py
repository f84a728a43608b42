import torch


class Driver:
    def load(self, path):
        return torch.load(path)

    def __load_states(self, path):
        states = torch.load(path)
        return states["model"].cuda()

    def __load_optimizer(self, path):
        return torch.load(path)

    def resume(self, path):
        return self.__load_optimizer(path)

    def __enter__(self):
        torch.cuda.synchronize()
        return self


def __load_all(paths):
    return [torch.load(path) for path in paths]
