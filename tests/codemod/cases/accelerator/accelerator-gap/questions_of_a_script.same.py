import torch

accelerator = "gpu" if torch.cuda.is_available() else "cpu"
use_cuda = torch.cuda.is_available()
num_gpus = torch.cuda.device_count()
print(" > Using CUDA: ", use_cuda)
print(" > Number of GPUs: ", num_gpus, accelerator)
