from unittest import mock

import tdev
import torch

with mock.patch.object(tdev.cuda, "is_available", return_value=True):
    x = torch.ones(1)
