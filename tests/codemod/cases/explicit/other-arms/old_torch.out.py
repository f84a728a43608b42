import tdev
import torch
from packaging import version
from packaging.version import Version


class Agent:
    def __init__(self, device, mixed):
        if version.parse(torch.__version__) >= version.parse("2.4"):
            self.scaler = tdev.amp.GradScaler(device=device, enabled=mixed)
        else:
            self.scaler = torch.cuda.amp.GradScaler(enabled=mixed)
        if Version(torch.__version__) < Version("2.4.0"):
            self.forward = torch.cuda.amp.custom_fwd
        elif Version(torch.__version__).release >= Version("2.12").release:
            self.forward = tdev.amp.custom_fwd(device_type="cuda")
        self.seed = torch.cuda.manual_seed if torch.__version__ < "2.0" else torch.manual_seed
        if Version(torch.__version__) >= Version("2.13"):
            self.name = tdev.cuda.get_device_name()
        else:
            self.name = tdev.cuda.get_device_properties(0).name
