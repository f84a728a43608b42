import tdev


class Agent:
    def __init__(self, opt):
        self.opt = opt
        self.use_cuda = tdev.cuda.is_available()

    def usage(self):
        """
        Share of the memory that is in use.

        It should be close to the output of nvidia-smi, but is only what this process knows.
        """
        if not self.use_cuda:
            return None
        available = used = 0
        for dev in range(tdev.cuda.device_count()):
            available += tdev.cuda.get_device_properties(dev).total_memory
            used += tdev.cuda.max_memory_allocated(dev)
        return used / available
