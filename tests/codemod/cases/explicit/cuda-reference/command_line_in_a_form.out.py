import tdev

COMMAND = "python train.py --cuda {} --gpus {}"


def start():
    return COMMAND.format(int(tdev.cuda.is_available()), tdev.cuda.device_count())
