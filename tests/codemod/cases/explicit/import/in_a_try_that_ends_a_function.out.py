class Translator:
    def __init__(self, model, device=None):
        super().__init__()
        try:
            import tdev
            import fairseq

            self.device = "cuda" if device is None and tdev.cuda.is_available() else device
        except ImportError:
            raise ImportError("install fairseq")
        self.model = fairseq.load(model)
        if tdev.is_accelerator(self.device, exact=True):
            self.model.cuda()
