import tdev
import torch

def f():
	tdev.cuda.synchronize()	# wait
	return torch.ones(1)