import tdev
import torch


class Decoder:
    """Decodes a video into the memory of a GPU."""

    def __init__(self, path, number):
        import PyNvVideoCodec as codec

        self.inner = codec.SimpleDecoder(path, gpu_id=number, use_device_memory=True)

    def frames(self, first, last):
        found = self.inner.get_batch_frames_by_index(list(range(first, last)))
        torch.cuda.current_stream().synchronize()
        return torch.stack([torch.from_dlpack(each) for each in found])


class Converted:
    def load(self, path):
        from torch2trt import TRTModule

        module = TRTModule()
        module.load_state_dict(torch.load(path))
        return module

    def free(self):
        tdev.cuda.empty_cache()
