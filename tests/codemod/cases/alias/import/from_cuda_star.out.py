from tdev.cuda.amp import *

scaler = GradScaler()
