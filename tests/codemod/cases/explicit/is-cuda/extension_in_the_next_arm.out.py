import tdev
import torch

try:
    from . import deform_pool_cuda
except ImportError:
    deform_pool_cuda = None


def forward(data, rois, ready):
    if not data.is_cuda and ready:
        return pool(data.shape)
    elif data.is_cuda and deform_pool_cuda is not None:
        deform_pool_cuda.pool_forward(data, rois)
    return data.new_zeros(3)


def backward(grad):
    if not grad.is_cuda:
        raise NotImplementedError("no backward of this operator for the CPU")
    found = grad.new_zeros(3)
    deform_pool_cuda.pool_backward(grad, found)
    return found


def plain(data):
    if not tdev.is_accelerator(data):
        return data.new_zeros(3)
    elif data.shape[0]:
        return data.new_ones(3)
    return data
