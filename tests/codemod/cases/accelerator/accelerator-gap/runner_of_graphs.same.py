import torch


class DraftCudaGraphRunner:
    def warm_up(self, run):
        for _ in range(2):
            torch.cuda.synchronize()
            run()

    def create(self):
        return torch.cuda.CUDAGraph()
