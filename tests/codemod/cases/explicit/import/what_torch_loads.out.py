import tdev
import torch.utils.data
import torch.utils.bundled_inputs

x = tdev.zeros(1, device="cuda")
data = torch.utils.data.TensorDataset(x)
