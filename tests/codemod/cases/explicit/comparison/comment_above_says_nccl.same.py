def hooks(strategy):
    # communication hooks only work with the NCCL backend
    # of one process for each device
    if strategy.root_device.type == "cuda":
        strategy.register()


def constants(device):
    if device.type == "cuda":
        # NCCL from 2.27.3 accumulates in fp32
        return None
