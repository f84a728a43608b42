import tdev
import torch
from tdev.cuda.amp import autocast


class Lit:
    def on_train_start(self):
        stft = torch.stft

        def fp32(input, *args, **kwargs):
            return stft(input.float(), *args, **kwargs)

        torch.stft = fp32
        torch.backends.cudnn.benchmark = True

    def step(self, x):
        with autocast():
            return tdev.zeros(3, device="cuda") + x
