import torch
import torch as th


def masks(self, dtype, device, x, deep):
    if len(self.masks) == 0:
        return torch.empty((0, self.height, self.width),
                           dtype=dtype,  # as it was given
                           device=device)
    place = torch.device(self.map_location + ":" +
                         str(self.properties.get("gpu_no")) if torch.cuda.
                         is_available() else self.map_location)
    text = torch.tensor([[1, 2],
                         # the second of them
                         [3, 4]], device=device) + th.tensor([1,
                                                              2], device=device)
    hanging = torch.zeros(
        3, 4,
        device=device)
    deeper = torch.zeros(len("""
                         as it is
                         """), max([
                             1,
                             2,
                         ]), device=device)
    kept = x.new_zeros(torch.cuda.current_device(), dict(a=1,
                                                         b=2))
    return place, text, hanging, deeper, kept, deep(torch.float32,
                                                    torch.zeros(2, device=device))


def adapters(folder, language, config):
    weights = torch.load(os.path.join(folder, "models",
                                      "{}.tagger.mdl".format(
                                          language)), map_location=config.device)[
        "adapters"]
    return weights
