import tdev

def f():
    return tdev.zeros(3, device="cuda")

@tdev.cuda.amp.autocast()
def g(a):
    y = tdev.cuda.current_device()
    if a:
        tdev.cuda.synchronize()
      else:
        s = """
def h():
"""
    
    return y, s

