import argparse


def parse(parser: argparse.ArgumentParser):
    import tdev

    args = parser.parse_args()
    if tdev.is_accelerator(args.device, exact=True):
        if args.quiet:
            print("quiet")
        else:
            import tdev as torch

            if torch.cuda.is_available() is False:
                parser.error("no device: check your installation")
    return args
