import torch


class Model(torch.nn.Module):
    def cuda(self, device=None):
        if device is None or isinstance(device, int):
            device = torch.device("cuda", index=device)
        self._set_device(torch.device(device))
        return super().cuda(device)

    def musa(self, device=None):
        self._set_device(torch.device(device))
        return super().musa(device)

    def npu(self, *args):
        self._device = torch.device(torch.npu.current_device())
        return super().npu()


def get_max_cuda_memory(device):
    memory = torch.cuda.max_memory_allocated(device=device)
    torch.cuda.reset_peak_memory_stats()
    return memory


def get_max_musa_memory(device):
    memory = torch.musa.max_memory_allocated(device=device)
    torch.musa.reset_peak_memory_stats()
    return memory


def seed_cuda(seed):
    torch.cuda.manual_seed_all(seed)


def seed_xpu(seed):
    print("there is no seed for XPU")
