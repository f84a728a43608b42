import tdev
import torch

f = tdev.cuda.jiterator._create_jit_fn("template <typename T> T f(T x) { return x; }")
y = torch.ones(1)
