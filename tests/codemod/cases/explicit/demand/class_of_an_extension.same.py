import torch


class Computer(torch.nn.Module):
    def _prepare(self, species: torch.Tensor, branch: str) -> None:
        if species.device.type != "cuda" and species.shape[1] != 0:
            raise ValueError("inputs have to be in a CUDA device if there is at least 1 atom")
        self.computer = torch.classes.cuaev.CuaevComputer(branch)
