import tdev

x = tdev.empty(3, device=tdev.cuda.current_device())
y = tdev.empty(3, device=0)
