import torch

for index in range(torch.cuda.device_count()):
    print(torch.cuda.get_device_properties(index))
    torch.cuda.synchronize(index)
names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
