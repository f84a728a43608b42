import tdev

größe = "größer als cuda 🚀"; tdev.cuda.synchronize()  # 测试
x = tdev.zeros(3, device="cuda")
