import torch


def main(args):
    if args.use_cuda:
        assert torch.cuda.is_available(), "Trying to use CUDA, but CUDA is not available."
        torch.cuda.empty_cache()
    if args.gpu:
        if not torch.cuda.is_available():
            raise RuntimeError("CUDA is not available.")
    if args.big:
        assert torch.cuda.is_available(), "CUDA is not available."
