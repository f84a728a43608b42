import torch

def launch(x, stream, lib):
    lib.run(x.data_ptr(), stream.cuda_stream)
    print(x.data_ptr())
    same = x.data_ptr() == x.data_ptr()
    return x.__cuda_array_interface__, torch.ones(1)
