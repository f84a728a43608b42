from tdev.cuda import amp, Stream as S

s = S()
with amp.autocast():
    pass
