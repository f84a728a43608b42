from apex.parallel import DistributedDataParallel, SyncBatchNorm, convert_syncbn_model


def wrapped(model):
    model = convert_syncbn_model(model, channel_last=True)
    return DistributedDataParallel(model, gradient_average=False)


def halved(model):
    return DistributedDataParallel(model, allreduce_always_fp32=True)


def norm(width):
    return SyncBatchNorm(width, fuse_relu=True), SyncBatchNorm(width)
