"""All figures by name, and drawing those whose material is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from alora_ts.bench.figures import (
    adjustment,
    after_event,
    anomaly_types,
    contributions,
    embeddings,
    held_back,
    parameters,
    rank_layers,
    rank_level,
    scores,
    simulated,
    window_size,
)
from alora_ts.bench.figures.style import check_format, save
from alora_ts.bench.figures.workshop import MissingMaterialError, Workshop
from alora_ts.errors import AloraError, nearest
from alora_ts.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FIGURES", "Drawn", "FigureKind", "LeftOut", "draw_figure", "draw_figures"]


class _Told(Protocol):
    @property
    def caption(self) -> str: ...


_M = TypeVar("_M", bound=_Told)


@dataclass(frozen=True)
class FigureKind(Generic[_M]):
    """How one figure is made.

    Attributes
    ----------
    title : str
        What it shows.
    needs : str
        "nothing", "a fit", "results", or "results and a fit".
    measure, draw : callable
        From a workshop to the material, and from that to the figure.
    """

    title: str
    needs: str
    measure: Callable[[Workshop], _M]
    draw: Callable[[_M], Figure]


FIGURES: dict[str, FigureKind[Any]] = {
    "parameters": FigureKind(
        "Learned weights against the number of variables",
        "nothing",
        parameters.measure,
        parameters.draw,
    ),
    "scores": FigureKind(
        "Scores of several methods over an event", "results", scores.measure, scores.draw
    ),
    "window-size": FigureKind(
        "F1 against the window size", "results", window_size.measure, window_size.draw
    ),
    "held-back": FigureKind(
        "Held-back loss of the published training", "results", held_back.measure, held_back.draw
    ),
    "contributions": FigureKind(
        "Who influences whom", "a fit", contributions.measure, contributions.draw
    ),
    "h1": FigureKind("The choice of h1", "a fit", rank_level.measure, rank_level.draw),
    "rank-per-layer": FigureKind(
        "Rank per layer, with and without the penalty",
        "a fit",
        rank_layers.measure,
        rank_layers.draw,
    ),
    "after-event": FigureKind(
        "The ALoRa-T score after an event", "a fit", after_event.measure, after_event.draw
    ),
    "point-adjustment": FigureKind(
        "A random score under point adjustment", "a fit", adjustment.measure, adjustment.draw
    ),
    "embedding": FigureKind(
        "Light and standard embedding", "results and a fit", embeddings.measure, embeddings.draw
    ),
    "anomaly-types": FigureKind(
        "Rank under each kind of anomaly", "a fit", anomaly_types.measure, anomaly_types.draw
    ),
    "simulation": FigureKind(
        "The simulation of appendix E", "nothing", simulated.measure, simulated.draw
    ),
}
"""Quick ones first."""


@dataclass(frozen=True)
class Drawn:
    """A figure and what to write below it.

    Attributes
    ----------
    name, title : str
    figure : matplotlib.figure.Figure
    caption : str
        What was measured, with its numbers.
    """

    name: str
    title: str
    figure: Figure
    caption: str


@dataclass(frozen=True)
class LeftOut:
    """A figure that could not be drawn.

    Attributes
    ----------
    name, why : str
    """

    name: str
    why: str


def draw_figure(name: str, workshop: Workshop) -> Drawn:
    """Measure and draw one figure.

    Raises
    ------
    MissingMaterialError
        When its material is not there.
    AloraError
        When there is no such figure, or its material cannot be read.

    Examples
    --------
    >>> drawn = draw_figure("parameters", Workshop(root=Path("data")))
    >>> drawn.title
    'Learned weights against the number of variables'
    """
    _check([name])
    kind = FIGURES[name]
    material = kind.measure(workshop)
    return Drawn(name, kind.title, kind.draw(material), material.caption)


def draw_figures(
    workshop: Workshop,
    folder: Path,
    *,
    only: Sequence[str] = (),
    formats: Sequence[str] = ("pdf", "png"),
    tell: Callable[[Drawn | LeftOut], None] = lambda _: None,
) -> list[Drawn | LeftOut]:
    """Draw figures into a folder, with their captions in ``captions.md``.

    Captions there of figures that are not drawn this time stay.

    Parameters
    ----------
    workshop : Workshop
    folder : Path
        Made if it does not exist.
    only : sequence of str
        Names; all by default.
    formats : sequence of str
        Of "pdf", "png" and "svg".
    tell : callable
        Receives each figure as soon as it is written, or left out.

    Returns
    -------
    list of Drawn or LeftOut
        In the order of :data:`FIGURES`. What could not be drawn says why; nothing is made up.
    """
    _check(only)
    for kind in formats:
        check_format(folder / f"figure.{kind}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AloraError(
            f"cannot write figures to {folder}: {error.strerror}; choose another folder"
        ) from error
    done: list[Drawn | LeftOut] = []
    for name in FIGURES:
        if only and name not in only:
            continue
        try:
            one: Drawn | LeftOut = draw_figure(name, workshop)
        except MissingMaterialError as error:
            one = LeftOut(name, str(error))
        if isinstance(one, Drawn):
            for kind in formats:
                save(one.figure, folder / f"{name}.{kind}")
        done.append(one)
        tell(one)
    said = folder / "captions.md"
    sections = {**_kept(said), **_sections(done, formats)}
    titles = [kind.title for kind in FIGURES.values() if kind.title in sections]
    with write_atomically(said) as part:
        part.write_text("# Figures\n\n" + "".join(sections[title] for title in titles))
    return done


def _sections(done: Iterable[Drawn | LeftOut], formats: Sequence[str]) -> dict[str, str]:
    """What to say of each figure, below a heading, by its title."""
    shown = next((kind for kind in ("png", "svg") if kind in formats), None)
    sections = {}
    for one in done:
        if isinstance(one, Drawn):
            title, said = one.title, one.caption
            image = [] if shown is None else [f"![{title}]({one.name}.{shown})", ""]
        else:
            title, said, image = FIGURES[one.name].title, f"Left out: {one.why}.", []
        sections[title] = "\n".join([f"## {title}", "", *image, said, "", ""])
    return sections


def _kept(path: Path) -> dict[str, str]:
    """The sections of captions written before, by title."""
    if not path.is_file():
        return {}
    _, *parts = path.read_text().split("## ")
    return {part.partition("\n")[0]: f"## {part.rstrip()}\n\n" for part in parts}


def _check(names: Iterable[str]) -> None:
    for name in names:
        if name not in FIGURES:
            raise AloraError(f"there is no figure {name!r}{nearest(name, FIGURES)}")
