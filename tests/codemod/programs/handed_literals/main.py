import torch

from agent import Agent
from memory import Memory
from noise import Noise

torch.manual_seed(0)
GPU = "cuda"
memory = Memory(4, device="cuda")
agent = Agent(3, GPU)
noise = Noise(1, f"cuda:{0}")
if torch.cuda.is_available():
    torch.cuda.synchronize()
for number in range(3):
    action = agent.act(torch.full((3,), float(number)))
    memory.add(action + noise.sample().detach() * 0)
print("stored", len(memory), f"{memory.mean():.3f}")
print(str(GPU), agent.where())
