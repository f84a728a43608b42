import tdev as torch


class Old(torch.jit.ScriptModule):
    @torch.jit.script_method
    def forward(self, x):
        return x + torch.ones(2, device="cuda")


@torch.jit.script_if_tracing
def mask(x: torch.Tensor) -> torch.Tensor:
    return x * torch.zeros(2, device="cuda")
