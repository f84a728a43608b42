import torch

KNOWS = torch.backends.mps.is_available()


def _is_on_cuda(x: torch.Tensor) -> bool:
    return x.is_cuda


def on_the_default_stream(original, hidden: torch.Tensor):
    if not torch.cuda.is_available() or not _is_on_cuda(hidden):
        return original(hidden)
    with torch.cuda.stream(torch.cuda.default_stream(hidden.device)):
        return original(hidden)


def seeded(seed):
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
