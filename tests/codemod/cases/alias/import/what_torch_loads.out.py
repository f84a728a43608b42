import tdev as torch
import tdev.utils.bundled_inputs

x = torch.zeros(1, device="cuda")
data = torch.utils.data.TensorDataset(x)
