import tdev
import torch


def context(recipe):
    fallback = torch.autocast(device_type="cuda")
    import transformer_engine.pytorch as te

    return te.fp8_autocast(fp8_recipe=recipe), fallback


def optional(x):
    try:
        import transformer_engine
    except ImportError:
        return tdev.zeros(3, device="cuda")
    return transformer_engine.f(x)
