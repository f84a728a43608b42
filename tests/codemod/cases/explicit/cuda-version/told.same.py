import logging

import torch

print("CUDA:", torch.version.cuda)
logging.info("torch %s, CUDA %s", torch.__version__, torch.version.cuda)
print(f"torch {torch.__version__} (CUDA {torch.version.cuda})")


def report():
    return {"torch": torch.__version__, "cuda": torch.version.cuda}


def longer(there):
    return {"CUDA": torch.version.cuda if there else None}
