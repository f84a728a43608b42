import torch

if is_fastlm_available():
    import fastlm.core as core


def initialize(arguments):
    assert torch.cuda.is_available(), "FastLM requires CUDA."
    core.start(arguments)


def losses(found):
    return {key: found.get(key, torch.cuda.FloatTensor([0.0])) for key in found}
