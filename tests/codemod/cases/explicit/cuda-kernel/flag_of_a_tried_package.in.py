import torch

try:
    from product_kernels import fused_product

    _PRODUCT_AVAILABLE = True
except ImportError:
    _PRODUCT_AVAILABLE = False

try:
    import torchvision

    _VISION_AVAILABLE = True
except ImportError:
    _VISION_AVAILABLE = False


def is_product_available():
    return _PRODUCT_AVAILABLE and torch.cuda.is_available()


def shows(x):
    if _VISION_AVAILABLE and torch.cuda.is_available():
        return torchvision.transforms.functional.hflip(x.cuda())
    return x


def tests_product(env):
    return _PRODUCT_AVAILABLE and "CI" in env and torch.cuda.is_available()
