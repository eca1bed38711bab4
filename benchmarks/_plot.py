"""A log-log plot as SVG: what the benchmarks draw, without a plotting package."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

_WIDTH, _HEIGHT = 760, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 210, 40, 60
_COLOURS = ("#0b62a4", "#c0392b", "#e08e0b", "#5b8c2a", "#6c4a9e")

Points = Sequence[tuple[float, float]]


def log_log(title: str, x: str, y: str, lines: Mapping[str, Points]) -> str:
    """The SVG text. Every coordinate is positive."""
    every = [p for points in lines.values() for p in points]
    low_x, high_x = _decades([p[0] for p in every])
    low_y, high_y = _decades([p[1] for p in every])

    def at(px: float, py: float) -> tuple[float, float]:
        across = (math.log10(px) - low_x) / max(1, high_x - low_x)
        up = (math.log10(py) - low_y) / max(1, high_y - low_y)
        return (
            _LEFT + across * (_WIDTH - _LEFT - _RIGHT),
            _HEIGHT - _BOTTOM - up * (_HEIGHT - _TOP - _BOTTOM),
        )

    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="22" font-size="15">{escape(title)}</text>',
    ]
    for power in range(low_x, high_x + 1):
        px, _ = at(10**power, 10**low_y)
        out.append(f'<line x1="{px:.0f}" y1="{_TOP}" x2="{px:.0f}" y2="{bottom}" stroke="#ddd"/>')
        out.append(f'<text x="{px:.0f}" y="{bottom + 18}" text-anchor="middle">{10**power:,}</text>')
    for power in range(low_y, high_y + 1):
        _, py = at(10**low_x, 10**power)
        out.append(f'<line x1="{_LEFT}" y1="{py:.0f}" x2="{right}" y2="{py:.0f}" stroke="#ddd"/>')
        label = f"{10**power:,}" if power >= 0 else f"{10**power:g}"
        out.append(f'<text x="{_LEFT - 8}" y="{py + 4:.0f}" text-anchor="end">{label}</text>')
    out.append(f'<text x="{(_LEFT + right) / 2:.0f}" y="{_HEIGHT - 18}" text-anchor="middle">{escape(x)}</text>')
    middle = (_TOP + bottom) / 2
    out.append(
        f'<text x="18" y="{middle:.0f}" text-anchor="middle" transform="rotate(-90 18 {middle:.0f})">{escape(y)}</text>'
    )
    for (name, points), colour in zip(lines.items(), _COLOURS, strict=False):
        placed = [at(*p) for p in sorted(points)]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in placed)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3.5" fill="{colour}"/>' for px, py in placed]
        px, py = placed[-1]
        out.append(f'<text x="{px + 8:.0f}" y="{py + 4:.0f}" fill="{colour}">{escape(name)}</text>')
    return "\n".join([*out, "</svg>", ""])


def _decades(values: Sequence[float]) -> tuple[int, int]:
    return math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
