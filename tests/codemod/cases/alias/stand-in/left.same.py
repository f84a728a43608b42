import torch
import xformers.ops
import pynvml  # tdev: keep

try:
    from flash_attn import flash_attn_func
except ImportError:
    flash_attn_func = None

if torch.__version__:
    from mamba_ssm import Mamba
