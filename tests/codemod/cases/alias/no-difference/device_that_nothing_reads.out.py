import tdev as torch

from data import Cora
from nets import Net

if __name__ == "__main__":
    device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
    data = Cora()
    net = Net()
    if torch.cuda.is_available():
        data.x = data.x.cuda()
        net = net.cuda()
    net(data.x)




def g():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.zeros(3, device=device)


def h():
    place = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
    return torch.zeros(3, device=place)
