import tdev

device = tdev.device("cuda" if tdev.cuda.is_available() else "cpu")
print("use .double() if you want", device)
