from torch.cuda import is_available


def save(net):
    write(net, device="cuda:0" if is_available() else "cpu")
