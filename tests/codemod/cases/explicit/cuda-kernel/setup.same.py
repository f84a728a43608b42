from setuptools import setup


def architectures():
    import torch

    found = set()
    for index in range(torch.cuda.device_count()):
        found.add(torch.cuda.get_device_name(f"cuda:{index}"))
    return found


setup(name="package", keywords=sorted(architectures()))
