import tdev


# Moves it from the GPU
# to the CPU
def on_the_cpu(t):
    return t.cpu() if hasattr(t, "is_cuda") and tdev.is_accelerator(t) else t
