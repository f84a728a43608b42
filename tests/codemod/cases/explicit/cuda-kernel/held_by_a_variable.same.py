import torch
from numba import cuda

from losses import loss_cpu


class Loss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, acts, labels):
        is_cuda = acts.is_cuda
        if is_cuda:
            loss = loss_gpu
        else:
            loss = loss_cpu
        loss(acts.contiguous(), labels)
        return acts.sum()


class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.loss = Loss.apply

    def forward(self, acts, labels):
        if not acts.is_cuda:
            acts = torch.nn.functional.log_softmax(acts, -1)
        return self.loss(acts, labels)


def loss_gpu(acts, labels):
    stream = cuda.external_stream(0)
    return stream, acts, labels
