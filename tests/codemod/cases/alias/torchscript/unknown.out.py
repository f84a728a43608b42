from models import build
from tdev import jit, nn


def export(path):
    model = jit.script(build())
    model.save(path)


def wrapped(model: nn.Module):
    return jit.script(model.eval())
