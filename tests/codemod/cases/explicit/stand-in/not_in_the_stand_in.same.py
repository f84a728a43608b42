import xformers
import xformers.ops.fmha
from mamba_ssm.models.mixer_seq_simple import MixerModel
from mamba_ssm.utils.generation import GenerationMixin
from mamba_ssm import Mamba
from flash_attn.ops.triton.cross_entropy import cross_entropy_loss

print(xformers.ops, MixerModel, GenerationMixin, Mamba, cross_entropy_loss)
