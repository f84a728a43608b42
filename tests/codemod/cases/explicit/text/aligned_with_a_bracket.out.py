import tdev
import torch
import torch as th


def masks(self, dtype, device, x, deep):
    if len(self.masks) == 0:
        return tdev.empty((0, self.height, self.width),
                          dtype=dtype,  # as it was given
                          device=device)
    place = tdev.device(self.map_location + ":" +
                        str(self.properties.get("gpu_no")) if tdev.cuda.
                        is_available() else self.map_location)
    text = tdev.tensor([[1, 2],
                        # the second of them
                        [3, 4]], device=device) + tdev.tensor([1,
                                                               2], device=device)
    hanging = tdev.zeros(
        3, 4,
        device=device)
    deeper = tdev.zeros(len("""
                         as it is
                         """), max([
                             1,
                             2,
                         ]), device=device)
    kept = x.new_zeros(tdev.cuda.current_device(), dict(a=1,
                                                        b=2))
    return place, text, hanging, deeper, kept, deep(torch.float32,
                                                    tdev.zeros(2, device=device))


def adapters(folder, language, config):
    weights = tdev.load(os.path.join(folder, "models",
                                     "{}.tagger.mdl".format(
                                         language)), map_location=config.device)[
        "adapters"]
    return weights
