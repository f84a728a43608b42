import json
from pathlib import Path
from types import SimpleNamespace

import torch

from engine import Engine
from evaluate import evaluate

cfg = json.loads((Path(__file__).parent / "settings.json").read_text())
model_cfg = SimpleNamespace(**cfg["model"])
engine = Engine(model_cfg, lr=cfg["optimizer"]["lr"], amp=cfg["amp"])
for _ in range(3):
    engine.step()
print("engine on", model_cfg.device)
print(round(evaluate(engine.model, device=cfg["model"]["device"]), 3))
path = Path(__file__).with_name("state.pt")
torch.save(engine.model.state_dict(), path)
engine.restore(path)
path.unlink()
print(round(evaluate(engine.model, cfg["model"]["device"]), 3))
