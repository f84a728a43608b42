import torch

OLDEST = (7, 5)


def check_compiler():
    if not torch.cuda.is_available():
        return
    found = torch.cuda.get_device_capability()
    if found >= OLDEST:
        return
    raise RuntimeError(f"the compiler needs a capability of 7.5, and the device has {found[0]}.{found[1]}")


def chooses():
    if not torch.cuda.is_available():
        return "eager"
    found = torch.cuda.get_device_capability()
    if found < OLDEST:
        return "eager"
    return "compiled"


def check_one(there):
    if there:
        fits = any(torch.cuda.get_device_capability(i)[0] >= 6 for i in range(torch.cuda.device_count()))
        if not fits:
            raise OSError("no GPU of compute capability 6.0 or newer")
    return there


def newest():
    """The devices for the kernels of sm90."""
    found = []
    for i in range(torch.cuda.device_count()):
        if torch.cuda.get_device_capability(i) >= (9, 0):
            found.append(i)
    return found


def counts():
    return [torch.cuda.get_device_properties(i).total_memory for i in range(torch.cuda.device_count())]
