import torch


def one_or_the_other(gpu, seed):
    if gpu:
        torch.cuda.manual_seed(seed)
    else:
        torch.manual_seed(seed)


def another_number(seed, rank):
    torch.manual_seed(seed)
    seed = seed + rank
    torch.cuda.manual_seed(seed)


def drawn_between(net, x, seed):
    torch.manual_seed(seed)
    first = net(x)
    torch.cuda.manual_seed(seed)
    return first, net(x)


def later(seed):
    def seeds():
        torch.manual_seed(seed)

    torch.cuda.manual_seed(seed)
    return seeds


def run_between(net, seed):
    torch.manual_seed(seed)
    train(net, seed)
    torch.cuda.manual_seed(seed)
