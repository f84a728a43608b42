import tdev
from .base import *

tdev.cuda.empty_cache()
