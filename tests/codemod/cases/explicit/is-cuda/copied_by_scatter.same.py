from mmcv.parallel import collate, scatter


def infer(model, samples):
    device = next(model.parameters()).device
    data = collate(samples, samples_per_gpu=len(samples))
    if next(model.parameters()).is_cuda:
        data = scatter(data, [device])[0]
    return model(**data)
