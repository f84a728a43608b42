from torch.cuda import is_available, synchronize

__all__ = ["is_available", "synchronize"]
