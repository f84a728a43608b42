import tdev


class Recorder:
    def __init__(self, folder, model):
        self.enabled = True
        self.quiet = False
        self.folder = folder
        where = next(model.parameters()).device
        if folder and where.type not in ("cuda", "meta"):
            self.enabled = False
        if where.type not in ("cuda", "meta"):
            self.quiet = False
        else:
            self.last = 0

    def start(self):
        if self.enabled:
            tdev.cuda.synchronize()

    def wake(self):
        self.quiet = True

    def say(self):
        if self.quiet:
            print(tdev.cuda.max_memory_allocated())
