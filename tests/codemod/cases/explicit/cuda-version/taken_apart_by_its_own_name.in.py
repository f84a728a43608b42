from torch.version import cuda as built_for


def fix(text):
    if built_for is None or text in built_for:
        return float(built_for) >= 10.2
    return built_for is not None and float(built_for) >= 10.2
