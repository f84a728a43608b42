import torch


class Space:
    def origin(self, n, device=None):
        """Return the origin.

        Args:
            n (int): its size.
            device (torch.device): where it lies.
        """
        return torch.zeros(n, device=device)

    def far(self, n, device=None):
        """Return a point far away.

        Args:
            n (int): its size.
            device (str): where it lies.
        """
        return torch.ones(n, device=device)

    def random(self, n, device=None):
        """Return any point."""
        return torch.randn(n, device=device)
