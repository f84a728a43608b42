from dataclasses import dataclass
from typing import Optional

import tdev
import torch


@dataclass
class Runner:
    device: Optional[str] = None


class Env:
    def __init__(self):
        self.device = torch.device("cpu")


def fields():
    runner = Runner(device="cuda")
    return tdev.zeros(3, device=runner.device)


def outside():
    env = Env()
    env.device = "cuda"
    return tdev.zeros(3, device=env.device)


def get_device(args):
    return args.device


def typed(args, state, spec):
    a = tdev.zeros(3, device=get_device(args))
    return a, tdev.zeros(3, device=state["args"].device), tdev.zeros(3, device=spec.device)


def loaded(path, more):
    options = {"map_location": "cpu", **more}
    return tdev.load(path, **options)


def asked(args):
    where = "cuda" if torch.cuda.is_available() or args.force else "mps" if torch.backends.mps.is_available() else "cpu"
    return tdev.zeros(3, device=where)
