import torch


class D:
    def p(self, x, t):
        b, *_, device = *x.shape, x.device
        return torch.full((b,), t, device=device)

    def q(self, img):
        b, c, h, w, device, size, = *img.shape, img.device, self.size
        return torch.randint(0, 3, (b,), device=device)

    def r(self, name):
        b, *_, device = 3, 4, name
        return torch.full((b,), 1, device=device)

    def s(self, **model_kwargs):
        return torch.arange(3, device=model_kwargs["input_ids"].device), torch.arange(3, device=model_kwargs["train"].device)
