import tdev


def at_most_one(model, device):
    if tdev.cuda.is_available() and tdev.cuda.device_count() <= 1:
        model.single = True
    return tdev.cuda.device_count() < 2 and tdev.is_accelerator(device.type)


def setup(self):
    global GPUS
    GPUS = tdev.cuda.device_count()
    if GPUS > 1:
        self.spread(GPUS)


def otherwise_eight(self):
    count = tdev.cuda.device_count() if tdev.cuda.is_available() else 8
    if count > 1:
        self.spread(count)


def four_if_any(self):
    count = 4 if tdev.cuda.device_count() else 1
    if count > 1:
        self.spread(count)
