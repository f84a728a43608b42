import torch


def clear():
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def is_full(error):
    return isinstance(error, RuntimeError) and "CUDA out of memory." in error.args[0]


def blocked(block):
    if not torch.cuda.is_available():
        return 0
    while True:
        try:
            torch.empty((block,), dtype=torch.uint8, device="cuda")
            return block
        except RuntimeError as error:
            if not is_full(error):
                raise
            block -= 2**30


def halve(step, size):
    if torch.cuda.is_available():
        try:
            return step(size)
        except RuntimeError as error:
            if "CUDA out of memory" not in str(error):
                raise
    return step(size // 2)
