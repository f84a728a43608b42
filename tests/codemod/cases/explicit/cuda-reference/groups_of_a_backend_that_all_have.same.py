import torch.distributed as dist


def gather(objects, ranks, limit):
    group = dist.new_group(backend="gloo", timeout=limit)
    mine, _ = dist.new_subgroups(4, backend="gloo")
    halves = dist.new_subgroups_by_enumeration([ranks[:2], ranks[2:]], limit, "gloo", None)
    dist.monitored_barrier(group=group, timeout=limit)
    return mine, halves, dist.new_group(ranks)
