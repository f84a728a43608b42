from torch.cuda.amp import *

scaler = GradScaler()
