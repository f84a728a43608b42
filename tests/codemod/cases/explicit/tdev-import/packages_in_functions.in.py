def load_first(path, device="cuda"):
    try:
        from segmenter import registry
    except ImportError as error:
        raise ImportError("needs segmenter") from error

    model = registry["large"](path).to(device)
    return model


def load_second(name, device="cuda"):
    import torch
    from segmenter import Second

    return Second(name).to(device, dtype=torch.bfloat16)


def load_third(path, device="cuda"):
    from pathlib import Path

    return read(Path(path)).to(device)
