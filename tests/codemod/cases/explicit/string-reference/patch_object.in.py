from unittest import mock

import torch

with mock.patch.object(torch.cuda, "is_available", return_value=True):
    x = torch.ones(1)
