import torch
from mmcv.ops import sigmoid_focal_loss as _sigmoid_focal_loss


def fast(pred, target):
    return _sigmoid_focal_loss(pred.contiguous(), target, 2.0, 0.25, None, "none")


def loss(pred: torch.Tensor, target):
    if torch.cuda.is_available() and pred.is_cuda:
        function = fast
    else:
        function = torch.nn.functional.binary_cross_entropy_with_logits
    return function(pred, target)


def free():
    torch.cuda.empty_cache()
