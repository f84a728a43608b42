import torch


class Agent:
    def __init__(self, size, device):
        self.device = device
        self.policy = torch.nn.Linear(size, 1, bias=False).to(device)
        torch.nn.init.ones_(self.policy.weight)
        self.steps = torch.zeros((), device=self.device)

    def act(self, state):
        self.steps += 1
        state = state.to(self.device)
        return self.policy(state).detach() + self.steps

    def where(self):
        return self.policy.weight.device == self.steps.device
