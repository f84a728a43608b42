import tdev


def kind(logger):
    if tdev.cuda.is_available():
        return "gpu"
    logger.info("no CUDA device found")
    return "cpu"


def run(net, x, logger):
    if tdev.cuda.is_available():
        net = net.cuda()
    if kind(logger) == "gpu":
        x = x.cuda()
    return net(x)
