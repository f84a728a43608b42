import tdev.cuda

tdev.cuda.empty_cache()
