import tdev


def parse(args):
    if not tdev.answers_cuda(tdev.device(args.device).type):
        raise ValueError("training requires a CUDA device.")
    if tdev.is_accelerator(tdev.device(args.device).type):
        args.fast = True
    return tdev.device(args.device)
