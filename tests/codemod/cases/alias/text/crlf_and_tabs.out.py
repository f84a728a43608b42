import tdev as torch

def f():
	torch.cuda.synchronize()	# wait
	return torch.ones(1)