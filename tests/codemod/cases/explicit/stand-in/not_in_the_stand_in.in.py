def bound_again():
    import xformers
    import xformers.ops.fmha

    return xformers.ops.fmha


def models():
    from mamba_ssm.models.mixer_seq_simple import MixerModel

    return MixerModel


def generation():
    from mamba_ssm.utils.generation import GenerationMixin

    return GenerationMixin


def a_name():
    from mamba_ssm import Mamba, Mamba3

    return Mamba, Mamba3


def what_it_has():
    from flash_attn.ops.triton.layer_norm import rms_norm_fn
    from mamba_ssm import Mamba
    from pynvml import NVMLError_NotSupported

    return Mamba, NVMLError_NotSupported, rms_norm_fn
