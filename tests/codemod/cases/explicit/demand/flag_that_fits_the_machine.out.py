import tdev


class Model:
    def __init__(self, use_cuda=True, number=-1):
        if use_cuda:
            if tdev.cuda.is_available():
                self.device = tdev.device("cuda") if number == -1 else tdev.device(f"cuda:{number}")
            else:
                raise ValueError("'use_cuda' is set, and CUDA is unavailable. Set use_cuda=False.")
        else:
            self.device = "cpu"
