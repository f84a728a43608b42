import torch.cuda as tc

tc.synchronize()
s = tc.Stream()
