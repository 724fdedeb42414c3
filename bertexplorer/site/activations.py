"""The activation functions by the names that activations.js has for them."""

import torch
import torch.nn.functional as F

from bertexplorer.model.encoder import gelu_tanh

ACTIVATION_NAMES = {F.gelu: "GELU", gelu_tanh: "GELU by tanh", F.relu: "ReLU", F.silu: "SiLU", torch.tanh: "Tanh"}
