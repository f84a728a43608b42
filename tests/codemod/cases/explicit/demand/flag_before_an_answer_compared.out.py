import tdev


def start(config, rank):
    if config.distributed:
        if tdev.cuda.is_available() is False:
            raise OSError("no GPU to train on")
        tdev.cuda.set_device(rank)
    if config.use_cuda and tdev.cuda.device_count() == 0:
        raise ValueError("CUDA is not available")
