import torch

from .estimators import make_estimator


class Forecaster:
    def fit(self, data):
        settings = {"max_epochs": 3}
        if self._has_gpu():
            settings["accelerator"] = "gpu"
            settings["devices"] = 1
        else:
            settings["accelerator"] = "cpu"
        return make_estimator(trainer_kwargs=settings).fit(data)

    def _has_gpu(self):
        return torch.cuda.is_available()
