import torch


def wait_for(tables):
    if tables[0].is_cuda:
        torch.cuda.current_stream(tables[0].device).synchronize()
