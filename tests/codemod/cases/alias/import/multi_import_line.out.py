import os, tdev as torch, sys

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
print(torch.ones(1), sys.argv)
