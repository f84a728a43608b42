import tdev
import torch


class Attacker:
    def run(self):
        if tdev.cuda.device_count() == 0:
            raise Exception("Found no GPU on your system, which is required.")
        return self._parallel(2)

    def _parallel(self, per_device):
        num_gpus = tdev.cuda.device_count()
        return torch.multiprocessing.Pool(per_device * num_gpus)
