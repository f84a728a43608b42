import tdev.cuda as tc

tc.synchronize()
s = tc.Stream()
