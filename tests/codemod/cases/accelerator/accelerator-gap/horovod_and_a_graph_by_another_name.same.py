import horovod.torch as hvd
import torch

cuda_graph = torch.cuda.graph


class Workers:
    def local(self):
        return hvd.local_rank()

    def setup(self):
        if torch.cuda.is_available():
            torch.cuda.set_device(self.local())


def replayed(graph, x):
    with cuda_graph(graph):
        x.cuda()
