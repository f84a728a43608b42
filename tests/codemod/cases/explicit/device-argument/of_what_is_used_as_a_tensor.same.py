import torch


class Slow(torch.optim.Optimizer):
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["step"] = torch.tensor(0.0, device=p.device)


class Attention(torch.nn.Module):
    def attend(self, hidden, start):
        xqkv = self.qkv(hidden)
        xqkv = xqkv.view(hidden.shape[0], -1, 3)
        xq = xqkv[:, :, 0]
        return torch.full((xq.shape[0],), start, device=xq.device)


def stacked(samples, like):
    print(like.dtype, like.shape)
    return torch.zeros(len(samples), device=like.device), torch.ones(3, device=samples.device)
