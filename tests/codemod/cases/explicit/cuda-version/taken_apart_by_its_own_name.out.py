from tdev.version import cuda as built_for


def fix(text):
    if not built_for or text in built_for:
        return float(built_for) >= 10.2
    return bool(built_for) and float(built_for) >= 10.2
