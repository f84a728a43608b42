import torch


class Monitor:
    def __init__(self):
        self.gpu_available = torch.cuda.is_available()
        self.fast = torch.cuda.is_available()

    def start(self):
        if self.gpu_available:
            import pynvml

            pynvml.nvmlInit()

    def run(self, x):
        return x.half() if self.fast else x


def cluster(dim, x):
    import faiss

    use_gpu = torch.cuda.is_available()
    kmeans = faiss.Kmeans(dim, 3, niter=4, gpu=use_gpu, verbose=True)
    return kmeans.train(x)
