import tdev


class Config:
    def __init__(self):
        self.options = {"cuda_enabled": bool(tdev.cuda.is_available()), "lr": 1}

    def device(self):
        return tdev.device("cuda" if self.options["cuda_enabled"] else "cpu")
