import torch


class Runner:
    """Runs a model."""

    def _batch_to_cuda(self, batch):
        """Move the batch to CUDA memory."""
        return {key: value.cuda() for key, value in batch.items()}

    def run(self, batch):
        batch = self._batch_to_cuda(batch)
        return torch.zeros(3, device="cuda") + batch["x"]
