"""Models."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from alora_ts.serve.http.endpoints.common import PROBLEMS, ServiceHere, answer
from alora_ts.serve.models.cache import UnknownModelError
from alora_ts.serve.service import Service
from alora_ts.serve.store.models import all_models, find_model
from alora_ts.serve.store.record import Record
from alora_ts.serve.times import from_micros

__all__ = ["router"]

router = APIRouter(tags=["models"], responses=PROBLEMS)
_FILE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


class ModelAnswer(BaseModel):
    """A model without its file."""

    id: str
    name: str
    origin: str
    created: str
    bytes: int
    sha256: str
    variables: list[str]
    active_for: list[str]


class CardAnswer(ModelAnswer):
    """A model with its card: training period, calibration, limits."""

    card: dict[str, Any]


def _show(service: Service, record: Record) -> dict[str, Any]:
    return {
        "id": record.id,
        "name": record.name,
        "origin": record.origin,
        "created": from_micros(record.created_us),
        "bytes": record.size,
        "sha256": record.sha256,
        "variables": record.card["variables"],
        "active_for": [s.name for s in service.sources.all() if s.model_id == record.id],
        "card": record.card,
    }


def _describe(service: Service, model: str) -> dict[str, Any]:
    with service.store.reading() as connection:
        record = find_model(connection, model)
    if record is None:
        raise UnknownModelError(f"there is no model {model[:60]!r}; GET /models lists them")
    return _show(service, record)


@router.get("/models", response_model=list[ModelAnswer], summary="List the models")
def list_models(service: ServiceHere) -> list[dict[str, Any]]:
    """Every model, the newest first."""
    with service.store.reading() as connection:
        return [_show(service, record) for record in all_models(connection)]


@router.post(
    "/models",
    response_model=CardAnswer,
    status_code=201,
    openapi_extra=_FILE,
    summary="Upload a model",
)
async def upload_model(
    request: Request,
    service: ServiceHere,
    name: Annotated[str, Query(min_length=1, max_length=100, description="For people.")],
) -> dict[str, Any]:
    """Keep a model file that `alora-ts fit` wrote; it is used once a source activates it.

    Only our safetensors format is read, which cannot carry code. The same file again gives the
    same id.
    """
    file = await request.body()
    key = await run_in_threadpool(service.registry.add, file, name=name, origin="upload")
    return await run_in_threadpool(_describe, service, key)


@router.get("/models/{model}", response_model=CardAnswer, summary="One model")
def get_model(model: str, service: ServiceHere) -> dict[str, Any]:
    """A model with its card."""
    return _describe(service, model)


@router.get("/models/{model}/contributions", summary="Who influences whom")
def get_contributions(model: str, service: ServiceHere) -> Response:
    """The model's weights C (variable to variable) and E (variable to latent pair)."""
    relations = service.models.get(model).contributions_
    return answer(
        {
            "variables": list(relations.variables),
            "C": relations.reconstruction.tolist(),
            "E": relations.latent.tolist(),
            "exact": relations.exact,
        }
    )
