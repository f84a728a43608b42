import tdev
import torch
from torch.autograd import Function

from package import _C


class GraphConv(torch.nn.Module):
    def forward(self, verts: torch.Tensor, edges: torch.Tensor):
        if torch.cuda.is_available() and verts.is_cuda and edges.is_cuda:
            sums = gather_scatter(verts, edges, self.directed)
        else:
            sums = gather_scatter_python(verts, edges, self.directed)
        return self.w0(verts) + sums


def gather_scatter_python(verts: torch.Tensor, edges, directed=False):
    return torch.zeros_like(verts).scatter_add(0, edges, verts)


class GatherScatter(Function):
    @staticmethod
    def forward(ctx, verts, edges, directed=False):
        ctx.directed = directed
        return _C.gather_scatter(verts, edges, directed, False)


gather_scatter = GatherScatter.apply


def summed(verts: torch.Tensor):
    return (
        gather_scatter_python(verts, None)
        if not tdev.is_accelerator(verts)
        else scatter(verts)
    )


def scatter(verts):
    return verts.sum()
