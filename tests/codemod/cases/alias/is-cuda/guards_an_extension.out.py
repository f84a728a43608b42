import tdev as torch

class Act(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        if self._act_cuda_obj is not None and x.is_cuda:
            return self._act_cuda_fn(x)
        if use_cuda() and torch.is_accelerator(x):
            x = move_to_cuda(x)
        return x.relu()
