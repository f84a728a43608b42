import torch
import torch.distributed as dist


class Encoder(torch.nn.Module):
    def loss(self, y):
        if dist.is_initialized():
            zc = torch.tensor(y.size(0)).cuda()
            dist.all_reduce(zc)
            zs = y.sum(dim=0)
            dist.all_reduce(zs)
            return zs / zc
        return y.var()


class Gyro(torch.nn.Module):
    def forward(self, x):
        is_cuda_tensor = x.is_cuda
        if is_cuda_tensor:
            self.masks = (torch.rand(3) > 0.5).float().to("cuda")
        return x * self.masks


def devices(count, logger):
    out = [torch.device(f"cuda:{i}") for i in range(count)]
    logger.info(
        f"Auto-detected {count} CUDA device(s): "
        + ", ".join(str(d) for d in out)
    )
    return out
