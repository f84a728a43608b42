import tdev
import torch


def save(path, model):
    if torch.cuda.is_available():
        state = torch.cuda.get_rng_state()
    else:
        state = None
    torch.save(
        {
            "model": model.state_dict(),
            "torch_cuda_random_state": state,
            "cuda_rng_state_all": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        },
        path,
    )


def resume(path, model):
    checkpoint = tdev.load(path)
    state = checkpoint["torch_cuda_random_state"]
    if state is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(state)
    elif state is not None and not torch.cuda.is_available():
        print("resumed without the state of its GPU")
    if tdev.cuda.is_available():
        tdev.cuda.synchronize()
    return checkpoint
