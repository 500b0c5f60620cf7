"""The embedding and the first layer folded, and the way back to their weights.

Layer 1 acts on u·W_e, u being the window after the moving average, so its scores are u A_h uᵀ with
A_h = W_e W_Q W_Kᵀ W_eᵀ / √(D/H), and its heads mix u.
"""

from __future__ import annotations

import torch
from torch import Tensor

from alora_ts.fast.scratch import Scratch
from alora_ts.fast.widths import cut, fill_up
from alora_ts.network import ALoRaT

__all__ = ["FirstFold"]


class FirstFold:
    """The weights of a step from u to Z^(1), n being the features of u.

    Parameters
    ----------
    network : ALoRaT
    scratch : Scratch
        Where large results go, for the way back too.

    Attributes
    ----------
    scores : Tensor of shape (n, H·n)
        From u to u A_h of all heads.
    scores_bias : Tensor of shape (H·n,)
    basis : Tensor of shape (n, D)
        From u to its share of Z^(1).
    mixed : Tensor of shape (H·n, D)
        From [S_1 u, …, S_H u] to theirs.
    bias : Tensor of shape (D,)
    """

    @torch.no_grad()
    def __init__(self, network: ALoRaT, scratch: Scratch) -> None:
        layer = self._layer = network.blocks[0]
        self._scratch = scratch
        with torch.enable_grad():
            self._embedded = network.embed.basis()  # (n, D); torch knows the way back
        basis = self._embedded.detach()
        n, embedded = basis.shape
        joint, bias = layer.query_key_value.weight, layer.query_key_value.bias
        projected = scratch.empty("projected", n, len(joint), like=basis)
        torch.mm(basis, joint.T, out=projected)
        self._query, self._key, self._value = self._by_head(projected)
        self._scale = self._query.shape[-1] ** -0.5
        by_head = (self._query @ self._key.transpose(1, 2)).mul_(self._scale)  # (H, n, n)
        self.scores = by_head.transpose(0, 1).reshape(n, -1)
        # A bias on the keys adds one number to a whole row of scores: the softmax cancels it.
        self._query_bias, _, self._value_bias = bias.view(3, layer.heads, 1, -1)
        of_bias = self._query_bias @ self._key.transpose(1, 2)
        self.scores_bias = of_bias.mul_(self._scale).flatten()
        self.basis = fill_up(basis, -1, scratch, "basis")
        project = layer.project.weight.T.view(layer.heads, -1, embedded)
        mixed = scratch.empty("mixed", layer.heads, n, embedded, like=basis)
        torch.bmm(self._value, project, out=mixed)
        self.mixed = fill_up(mixed.flatten(0, 1), -1, scratch, "wide mixed")
        constant = layer.project.weight @ self._value_bias.flatten() + layer.project.bias
        self.bias = fill_up(constant, -1, scratch, "bias")

    @torch.no_grad()
    def take_back(
        self,
        of_scores: Tensor,
        of_scores_bias: Tensor,
        of_basis: Tensor,
        of_mixed: Tensor,
        of_bias: Tensor,
    ) -> None:
        """Give the network's weights their gradients, from those of the folded ones."""
        layer, scratch, heads = self._layer, self._scratch, self._layer.heads
        joint, project = layer.query_key_value, layer.project
        n, embedded = self._embedded.shape
        of_projected = scratch.empty("of projected", n, len(joint.weight), like=of_basis)
        of_query, of_key, of_value = self._by_head(of_projected)

        of_scaled = of_scores.view(n, heads, n).transpose(0, 1) * self._scale
        of_scaled_bias = of_scores_bias.view(heads, n, 1) * self._scale
        of_query.copy_(of_scaled @ self._key)
        of_key.copy_(of_scaled.transpose(1, 2) @ self._query)
        of_key.addcmul_(of_scaled_bias, self._query_bias)
        of_query_bias = of_scaled_bias.transpose(1, 2) @ self._key

        of_mixed = of_mixed[:, :embedded].view(heads, n, embedded)
        of_bias = of_bias[:embedded].clone()
        of_value.copy_(of_mixed @ project.weight.view(embedded, heads, -1).transpose(0, 1))
        of_value_bias = of_bias @ project.weight
        of_project = scratch.empty_like("of project", project.weight)
        by_head = of_project.view(embedded, heads, -1)
        for head in range(heads):
            torch.mm(of_mixed[head].T, self._value[head], out=by_head[:, head])
        of_project.addr_(of_bias, self._value_bias.flatten())

        of_joint = scratch.empty_like("of joint", joint.weight)
        torch.mm(of_projected.T, self._embedded.detach(), out=of_joint)
        joint.weight.grad = of_joint
        of_key_bias = torch.zeros_like(of_value_bias)
        joint.bias.grad = torch.cat([of_query_bias.flatten(), of_key_bias, of_value_bias])
        project.weight.grad, project.bias.grad = of_project, of_bias
        of_embedded = cut(of_basis, self._embedded, scratch, "of embedded")
        of_embedded.addmm_(of_projected, joint.weight)
        torch.autograd.backward([self._embedded], [of_embedded])

    def _by_head(self, projected: Tensor) -> Tensor:
        """Views (3, H, n, D/H) of queries, keys and values (n, 3·H·(D/H))."""
        return projected.view(len(projected), 3, self._layer.heads, -1).permute(1, 2, 0, 3)
