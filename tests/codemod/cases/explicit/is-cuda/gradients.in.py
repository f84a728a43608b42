import torch


class Loss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, log_probs, targets):
        loss = torch.tensor([1.0])
        return loss.cuda() if log_probs.is_cuda else loss

    @staticmethod
    def backward(ctx, grad_output):
        grad = torch.ones(3)
        if grad_output.is_cuda:
            grad = grad.cuda()
        return grad, None


class Other:
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.is_cuda
