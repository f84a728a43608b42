import tdev
import torch


class Experiment:
    def __init__(self, plan):
        self.plan = plan

    def fit(self, trial):
        torch.save(trial, "trial.pt")
        print(torch.typename(trial))
        return tdev.zeros(2, device=trial.device), tdev.ones(3, device=self.plan.first.device)
