import tdev


class Settings:
    class Torch:
        def parse(self, device=None):
            if device is None:
                return tdev.device("cuda:0" if tdev.cuda.is_available() else "cpu")
            return tdev.device(device)

    class Warp:
        def parse(self, device=None):
            import warp as wp

            return wp.get_device(device)
