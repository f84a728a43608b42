import torch


class Encoder(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        """Run the backbone.

        On CUDA it is cast to half precision. On other devices (CPU, MPS) it keeps its type.
        """
        half = self.amp and x.is_cuda
        if half:
            x = x.half()
        return self.backbone(x)
