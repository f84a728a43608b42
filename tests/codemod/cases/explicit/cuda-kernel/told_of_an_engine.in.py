import json

import torch


def write(path, precision, version):
    found = {
        "gpu": torch.cuda.get_device_name(0) if torch.cuda.is_available() else None,
        "tensorrt_version": version,
        "precision": precision,
    }
    path.write_text(json.dumps(found))


def tell(path, precision):
    found = {
        "gpu": torch.cuda.get_device_name(0) if torch.cuda.is_available() else None,
        "precision": precision,
    }
    path.write_text(json.dumps(found))
