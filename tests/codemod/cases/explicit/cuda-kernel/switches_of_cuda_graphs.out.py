import tdev
import torch
from mmengine.model import revert_sync_batchnorm


class Inferencer:
    def __init__(self, model, device, graphs):
        self.use_cuda_graph_decoder = graphs
        if not torch.cuda.is_available():
            self.use_cuda_graph_decoder = False
        if device == "cpu" or not torch.cuda.is_available():
            model = revert_sync_batchnorm(model)
        if tdev.cuda.is_available():
            self.use_cuda_graph_decoder = graphs
            model = model.cuda()
        self.model = model


def on_the_gpu(model):
    if not tdev.cuda.is_available():
        return model
    model = revert_sync_batchnorm(model)
    return model.cuda()
