from lightning.fabric.accelerators import CUDAAccelerator, MPSAccelerator


class Connector:
    def choose(self, devices):
        if devices[0].type == "cuda":
            self.flag = "cuda"
        elif isinstance(self.flag, MPSAccelerator):
            self.flag = "other"
