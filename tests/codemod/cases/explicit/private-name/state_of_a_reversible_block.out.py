import tdev
import torch
from torch.utils.checkpoint import get_device_states, set_device_states


class Deterministic(torch.nn.Module):
    def record(self, *given):
        self.cpu_state = torch.get_rng_state()
        if torch.cuda._initialized:
            self.on_cuda = True
            self.places, self.states = get_device_states(*given)

    def restore(self):
        torch.set_rng_state(self.cpu_state)
        if self.on_cuda:
            set_device_states(self.places, self.states)


def elsewhere():
    return tdev.zeros(3, device="cuda")
