import torch


class Net(torch.nn.Module):
    def forward(self, x, mask, emission):
        n = emission.shape[1]
        a = torch.arange(n, device=emission.device)
        b = torch.ones(3, device=self.norm.weight.device)
        c = torch.zeros(3, device=mask.device)
        return a, b, c, torch.empty(2, device=x.device)


def step(model, batch, graph):
    graph = graph.view(-1)
    first = torch.zeros(2, device=model.device)
    second = torch.zeros(2, device=batch["x"].device)
    return first, second, torch.ones(2, device=graph.device)
