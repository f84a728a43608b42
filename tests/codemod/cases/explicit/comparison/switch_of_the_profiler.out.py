import argparse

import tdev
import torch
import torch.autograd.profiler as profiler

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
args = parser.parse_args()


def run(net, x, own):
    with profiler.profile(profile_memory=True, use_cuda=(args.device == "cuda")):
        net(x)
    with torch.autograd.profiler.profile(use_cuda=torch.cuda.is_available()):
        net(x)
    own.start(use_cuda=tdev.is_accelerator(args.device, exact=True))
