import torch.cuda

torch.accelerator.empty_cache()
