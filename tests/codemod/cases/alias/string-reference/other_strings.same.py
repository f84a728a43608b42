import torch

NAMES = ["torch.cuda.is_available"]
print("torch.cuda.synchronize")
getattr(torch, "ones")(1)
importlib.import_module("torch.cuda.nccl_helpers")
pytest.skip("torch.cuda is not available")
