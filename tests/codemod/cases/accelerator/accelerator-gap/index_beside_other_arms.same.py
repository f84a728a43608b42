import torch


def start(proc_id):
    num_gpus = torch.cuda.device_count()
    local_rank = proc_id % num_gpus
    if is_mlu_available():
        torch.mlu.set_device(local_rank)
    elif is_npu_available():
        torch.npu.set_device(local_rank)
    else:
        torch.cuda.set_device(local_rank)


def count():
    return torch.cuda.device_count()
