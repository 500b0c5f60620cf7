"""Prometheus's remote-write protocol, version 1: a compressed message of series."""

from __future__ import annotations

import math
from typing import Any

from cramjam import snappy
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from alora_ts.errors import DataError
from alora_ts.serve.connect.receiver import Point

__all__ = ["LARGEST", "read_write_request"]

LARGEST = 4 * 2**20
"""Bytes of a message; Prometheus sends some hundred thousand, other senders up to three million."""
_LABELS = 100
_MOST = 100_000


def _message_class() -> Any:
    """Build the part of the protocol's description that is read here; the rest is skipped."""
    file = descriptor_pb2.FileDescriptorProto(
        name="alora_ts/remote_write.proto", package="alora_ts.remote_write", syntax="proto3"
    )
    kinds = descriptor_pb2.FieldDescriptorProto
    fields: dict[str, list[tuple[str, int, int, str]]] = {
        "Label": [("name", 1, kinds.TYPE_STRING, ""), ("value", 2, kinds.TYPE_STRING, "")],
        "Sample": [("value", 1, kinds.TYPE_DOUBLE, ""), ("timestamp", 2, kinds.TYPE_INT64, "")],
        "TimeSeries": [
            ("labels", 1, kinds.TYPE_MESSAGE, "Label"),
            ("samples", 2, kinds.TYPE_MESSAGE, "Sample"),
        ],
        "WriteRequest": [("timeseries", 1, kinds.TYPE_MESSAGE, "TimeSeries")],
    }
    for name, parts in fields.items():
        message = file.message_type.add(name=name)
        for field, number, kind, of in parts:
            message.field.add(
                name=field,
                number=number,
                type=kind,
                label=kinds.LABEL_REPEATED if of else kinds.LABEL_OPTIONAL,
                type_name=f".{file.package}.{of}" if of else None,
            )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = pool.FindMessageTypeByName(f"{file.package}.WriteRequest")
    return message_factory.GetMessageClass(found)


_WriteRequest = _message_class()


def read_write_request(body: bytes) -> list[Point]:
    """Read the samples of a request.

    Staleness markers and other values that are not finite say that there is no value.

    Raises
    ------
    DataError
        When it is no such message, or too large; sending it again would not help.

    Examples
    --------
    >>> request = _WriteRequest()
    >>> series = request.timeseries.add()
    >>> _ = series.labels.add(name="__name__", value="up")
    >>> _ = series.samples.add(value=1.0, timestamp=1500)
    >>> read_write_request(bytes(snappy.compress_raw(request.SerializeToString())))
    [Point(labels={'__name__': 'up'}, time=1500000, value=1.0)]
    """
    try:
        # The length stands in front.
        size = snappy.decompress_raw_len(body)
    except Exception as error:  # the package's own, and not always the same
        raise DataError("the body is not compressed by snappy (block format)") from error
    if size > LARGEST:
        raise DataError(
            f"the message has {size:,} bytes, at most {LARGEST:,} are taken; lower "
            "max_samples_per_send"
        )
    try:
        message = _WriteRequest.FromString(bytes(snappy.decompress_raw(body)))
    except DecodeError as error:
        raise DataError("the body is not a remote-write message of version 1") from error
    except Exception as error:
        raise DataError("the body is not compressed by snappy (block format)") from error
    # Two bytes can be a whole series.
    if len(message.timeseries) > _MOST:
        raise DataError(f"more than {_MOST:,} series at once; lower max_samples_per_send")
    points = list[Point]()
    for series in message.timeseries:
        if len(series.labels) > _LABELS:
            raise DataError(
                f"a series has {len(series.labels):,} labels, at most {_LABELS} are taken"
            )
        if len(points) + len(series.samples) > _MOST:
            raise DataError(f"more than {_MOST:,} samples at once; lower max_samples_per_send")
        labels = {label.name: label.value for label in series.labels}
        points += [
            Point(
                labels,
                sample.timestamp * 1000,
                sample.value if math.isfinite(sample.value) else None,
            )
            for sample in series.samples
        ]
    return points
