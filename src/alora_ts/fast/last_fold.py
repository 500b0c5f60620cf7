"""The last layer and the decoder folded, and the way back to their weights.

What the last layer adds to Z is only ever decoded, so its values go to the d series directly.
"""

from __future__ import annotations

import torch
from torch import Tensor

from alora_ts.fast.scratch import Scratch
from alora_ts.fast.widths import cut, fill_up
from alora_ts.network import ALoRaT

__all__ = ["LastFold"]


class LastFold:
    """The weights of a step from the last layer's input to the reconstruction.

    Parameters
    ----------
    network : ALoRaT
    scratch : Scratch
        Where large results go, for the way back too.

    Attributes
    ----------
    query_key : Tensor of shape (2·inner, D)
        Queries and keys; a row for each, as the weights themselves lie.
    decoded : Tensor of shape (H·d + d, D)
        Each head's values as d series, and the decoded input.
    joint_bias : Tensor of shape (2·inner + H·d + d,)
        Of both. The values' bias adds to every row alike, so it is decoded with the input.
    of_query_key : Tensor of shape (2·inner, D)
        Where the gradient of queries and keys is to be written, before the way back: there it
        stays beside that of the values.
    """

    @torch.no_grad()
    def __init__(self, network: ALoRaT, scratch: Scratch) -> None:
        layer = self._layer = network.blocks[-1]
        self._out, self._scratch = network.decode, scratch
        inner, heads = layer.project.in_features, layer.heads
        decode = self._decode = fill_up(network.decode.weight.detach(), -2, scratch, "decode")
        d, embedded = decode.shape
        query_key, value = torch.split(layer.query_key_value.weight.detach(), [2 * inner, inner])
        bias, value_bias = torch.split(layer.query_key_value.bias.detach(), [2 * inner, inner])
        self._value, self._value_bias = value.view(heads, -1, embedded), value_bias
        self._project = decode @ layer.project.weight  # (d, inner)
        self.query_key = fill_up(query_key, -1, scratch, "query and key")
        of_joint = scratch.empty("of joint", 3 * inner, self.query_key.shape[1], like=decode)
        self.of_query_key, self._of_value = torch.split(of_joint, [2 * inner, inner])
        self._of_joint = of_joint
        decoded = scratch.empty("decoded", 1 + heads, d, embedded, like=decode)
        torch.bmm(self._by_head(self._project), self._value, out=decoded[:-1])
        decoded[-1] = decode
        self.decoded = fill_up(decoded.flatten(0, 1), -1, scratch, "wide decoded")
        constant = self._project @ value_bias + decode @ layer.project.bias
        constant[: len(network.decode.bias)] += network.decode.bias
        self.joint_bias = torch.cat([bias, constant.new_zeros(heads * d), constant])

    @torch.no_grad()
    def take_back(self, of_decoded: Tensor, of_joint_bias: Tensor) -> None:
        """Give the network's weights their gradients, from those of the folded ones."""
        layer, scratch, decode = self._layer, self._scratch, self._decode
        joint, project = layer.query_key_value, layer.project
        d, embedded = decode.shape
        inner = project.in_features

        of_bias, of_constant = of_joint_bias[: 2 * inner], of_joint_bias[-d:]
        of_decoded = of_decoded[:, :embedded].view(1 + layer.heads, d, embedded)
        of_by_head = of_decoded[:-1] @ self._value.transpose(1, 2)  # (H, d, D/H)
        of_project = of_by_head.transpose(0, 1).reshape(d, inner)
        of_project.addr_(of_constant, self._value_bias)

        of_value = self._of_value[:, :embedded].view(self._value.shape)
        torch.bmm(self._by_head(self._project).transpose(1, 2), of_decoded[:-1], out=of_value)
        joint.weight.grad = cut(self._of_joint, joint.weight, scratch, "of joint, cut")
        joint.bias.grad = torch.cat([of_bias, of_constant @ self._project])
        of_weight = scratch.empty_like("of project", project.weight)
        project.weight.grad = torch.mm(decode.T, of_project, out=of_weight)
        project.bias.grad = of_constant @ decode
        of_decode = torch.addmm(of_decoded[-1], of_project, project.weight.T)
        of_decode.addr_(of_constant, project.bias)
        self._out.weight.grad = of_decode[: self._out.out_features]
        self._out.bias.grad = of_constant[: self._out.out_features].clone()

    def _by_head(self, project: Tensor) -> Tensor:
        """A view (H, d, D/H) of (d, H·(D/H))."""
        return project.view(len(project), self._layer.heads, -1).transpose(0, 1)
