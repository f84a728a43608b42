import jax.torch as jt
from mypkg.torch import cuda

cuda.synchronize()
jt.cuda.synchronize()
