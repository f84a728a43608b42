from .net import Net

net = Net()
net.cuda()
