import torch
import torch.backends.cudnn as cudnn

cudnn.benchmark = True
torch.backends.cudnn.deterministic = True
torch.backends.cuda.matmul.allow_tf32 = True
torch.use_deterministic_algorithms(True)
