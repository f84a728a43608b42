import tdev
import torch


def clear(device):
    if device != "cpu" and torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.synchronize()
    if device == "mps":
        torch.mps.synchronize()


class CudaChecker:
    def check(self):
        if not torch.cuda.is_available():
            self.log_and_exit(mod_name="CUDA", message="cuda is not available.")
        if tdev.cuda.get_device_properties(0).major < 9:
            self.log_and_exit(mod_name="CUDA", message="requires sm>=9.0.")


def seeded(seed):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
    with tdev.random.fork_rng():
        torch.manual_seed(seed)


def raw(x, library):
    return library.external_stream(torch.cuda.current_stream(x.device).cuda_stream)


class Decoder:
    def decode(self, x):
        if self.cuda_graphs_mode is not None and x.device.type == "cuda":
            return self.cuda_graphs_impl(x)
        return x.unsqueeze(0)
