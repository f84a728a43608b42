import argparse


def parse(parser: argparse.ArgumentParser):
    args = parser.parse_args()
    if args.device == "cuda":
        if args.quiet:
            print("quiet")
        else:
            import torch

            if torch.cuda.is_available() is False:
                parser.error("no device: check your installation")
    return args
