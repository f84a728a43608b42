import tdev as torch

def step(x, device_type):
    with torch.autocast("cuda", dtype=torch.float16):
        y = x @ x
    with torch.autocast(device_type="cuda", enabled=False), torch.no_grad():
        y = x @ x
    with torch.amp.autocast(device_type=device_type):
        y = x @ x
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x
    return y
