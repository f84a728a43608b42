import tdev
import torch
from pytorch_lightning import Callback
from pytorch_lightning.accelerators import CPUAccelerator, CUDAAccelerator


class Memory(Callback):
    def on_train_epoch_start(self, trainer, module):
        if not isinstance(trainer.accelerator, CUDAAccelerator):
            return
        torch.cuda.reset_peak_memory_stats()

    def on_train_epoch_end(self, trainer, module):
        if isinstance(trainer.accelerator, CUDAAccelerator):
            print(torch.cuda.max_memory_allocated())

    def on_exception(self, trainer, module, error):
        if not isinstance(trainer.accelerator, CPUAccelerator):
            tdev.cuda.empty_cache()
