import tdev

device = tdev.device("cuda" if tdev.cuda.is_available() else "cpu")


def error(outputs):
    return outputs.detach().cpu().double().std()
