def attention(key, value):
    no_cuda = any(t.device.type != "cuda" for t in (key, value))
    # Launching the CUDA kernel for one token takes longer
    return no_cuda
