import torch


class Settings:
    class Torch:
        def parse(self, device=None):
            if device is None:
                return torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
            return torch.device(device)

    class Warp:
        def parse(self, device=None):
            import warp as wp

            return wp.get_device(device)
