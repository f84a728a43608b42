import warnings

import torch


def explain(model, explainer):
    # InputXGradient fails on a GPU (cudnn error)
    if explainer == "InputXGradient":
        using_gpu = False
        if hasattr(model, "trainer_kwargs"):
            using_gpu = model.trainer_kwargs["accelerator"] == "auto" and torch.cuda.is_available()
        elif torch.cuda.is_available():
            using_gpu = True
        if using_gpu:
            warnings.warn("recurrent models on GPU cause cudnn errors")
            return None
    return model(explainer)
