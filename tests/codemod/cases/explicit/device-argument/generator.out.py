import tdev

g = tdev.Generator(device="cuda")
p = tdev.randperm(10, generator=g, device="cuda")
h = tdev.Generator("cuda")
s = tdev.Stream(device="cuda")
e = tdev.Event("cuda")
