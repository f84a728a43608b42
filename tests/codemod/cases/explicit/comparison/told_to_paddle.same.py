from .files import has_paddle

if has_paddle():
    import paddle.inference


def predictor(path, device=None):
    config = paddle.inference.Config(path)
    if device == "cuda":
        config.enable_use_gpu(2000, 0)
    else:
        config.disable_gpu()
    return config
