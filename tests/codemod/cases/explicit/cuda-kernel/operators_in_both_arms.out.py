import tdev
import torch
from mmcv.ops import sigmoid_focal_loss as _sigmoid_focal_loss


def fast(pred, target, alpha):
    if isinstance(alpha, list):
        loss = _sigmoid_focal_loss(pred.contiguous(), target, 2.0, 0.5, None, "none") * 2
    else:
        loss = _sigmoid_focal_loss(pred.contiguous(), target, 2.0, alpha, None, "none")
    return loss


def either(pred, target, alpha=None):
    if alpha is None:
        return torch.nn.functional.binary_cross_entropy_with_logits(pred, target)
    else:
        loss = _sigmoid_focal_loss(pred.contiguous(), target, 2.0, alpha, None, "none")
    return loss


def loss(pred: torch.Tensor, target):
    if torch.cuda.is_available() and pred.is_cuda:
        function = fast
    else:
        function = torch.nn.functional.binary_cross_entropy_with_logits
    return function(pred, target)


def other_loss(pred: torch.Tensor, target):
    if tdev.cuda.is_available() and tdev.is_accelerator(pred):
        function = either
    else:
        function = torch.nn.functional.binary_cross_entropy_with_logits
    return function(pred, target)
