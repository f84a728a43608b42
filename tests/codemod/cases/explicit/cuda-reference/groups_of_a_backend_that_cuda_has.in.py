import torch.distributed as dist


def of_a_variable(ranks, backend):
    return dist.new_group(ranks, backend=backend)


def of_options(ranks, options):
    return dist.new_group(ranks, pg_options=options), dist.new_group(ranks, **options)


def of_the_machine():
    return dist.new_subgroups(backend="gloo")
