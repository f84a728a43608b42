import tdev
import torch


class StaticCudaGraph:
    def capture(self, function, inputs):
        self.graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.outputs = function(*inputs)

    def __call__(self, *inputs):
        if not inputs or any(not value.is_cuda for value in inputs):
            raise RuntimeError("StaticCudaGraph requires one or more CUDA tensors.")
        self.graph.replay()
        return self.outputs


class CudaTimer:
    def start(self):
        self.begin = tdev.cuda.Event(enable_timing=True)
        self.begin.record()
