class Translator:
    def __init__(self, model, device=None):
        super().__init__()
        try:
            import torch
            import fairseq

            self.device = "cuda" if device is None and torch.cuda.is_available() else device
        except ImportError:
            raise ImportError("install fairseq")
        self.model = fairseq.load(model)
        if self.device == "cuda":
            self.model.cuda()
