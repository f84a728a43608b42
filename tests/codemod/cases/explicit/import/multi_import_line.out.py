import tdev
import os, torch, sys

tdev.cuda.set_device(int(os.environ["LOCAL_RANK"]))
print(torch.ones(1), sys.argv)
