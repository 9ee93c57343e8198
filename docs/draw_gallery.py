"""Run small experiments, and draw the thumbnails of docs/gallery.md.

    python docs/draw_gallery.py

The results are in results/gallery. The data of some experiments are downloaded, or taken from a
mirror (OFER_MIRROR).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
RUN = ROOT / "results" / "gallery"
GALLERY = ROOT / "docs" / "gallery"
TABLE = "wines"
OUTPUTS = "flavanoids,color_intensity,proline"
WIDTH, MAX_HEIGHT, N_COLORS = 320, 250, 32
SNAKEFILE = """
configfile: "config/config.yaml"

module ofer:
    snakefile: "{root}/Snakefile"
    config: config

use rule * from ofer
"""
OF_RUN = ("headline", "curves", "ranks", "protocol", "embedding-or-raw")


def main() -> None:
    """Run what the gallery shows, and write a small picture of every kind."""
    drawn = run_experiments() | run_table()
    for kind, path in drawn.items():
        if path.exists():
            write_thumbnail(path, GALLERY / f"{kind}.png")
        else:
            print(f"no figure: {kind}", file=sys.stderr)


def run_experiments() -> dict[str, Path]:
    """Run the experiments of gallery/experiments.yaml; return the figure of each kind."""
    settings = yaml.safe_load((GALLERY / "experiments.yaml").read_text(encoding="utf-8"))
    shutil.copytree(ROOT / "config", RUN / "config", dirs_exist_ok=True)
    figures = RUN / "results" / "figures"
    drawn = {name: figures / f"{name}.png" for name in OF_RUN}
    for experiment, keys in settings.items():
        kinds = keys["figures"]
        keys["figures"] = [
            {"name": kind.replace("_", "-"), "kind": kind, "caption": keys["title"]}
            for kind in kinds
        ]
        drawn |= {kind: figures / f"{experiment}-{kind.replace('_', '-')}.png" for kind in kinds}
        path = RUN / "config" / "experiments" / f"{experiment}.yaml"
        path.write_text(yaml.safe_dump(keys, sort_keys=False), encoding="utf-8")
    snakemake("--config", f"experiments=[{','.join(settings)}]", "n_splits=3")
    return drawn


def run_table() -> dict[str, Path]:
    """Answer for the table of examples/; return the figure of each kind."""
    data = ROOT / "examples" / f"{TABLE}.csv"
    asked = (f"name={TABLE}", f"data={data}", f"outputs='{OUTPUTS}'")
    if not (RUN / "config" / "tables" / "datasets" / f"{TABLE}.yaml").exists():
        snakemake("new", "--config", *asked)
        add_predicted_true(RUN / "config" / "tables" / "experiments" / f"{TABLE}.yaml")
    snakemake("answer", "--config", f"name={TABLE}")
    figures = RUN / "results" / "figures"
    kinds = ("answer-methods", "answer-curve", "answer-outputs", "answer-calibration")
    kinds += ("answer-importance", "answer-effects", "predicted-true", "residuals-novelty")
    return {
        kind if kind.startswith("answer") else kind.replace("-", "_"): (
            figures / f"{TABLE}-{kind}.png"
        )
        for kind in kinds
    }


def add_predicted_true(path: Path) -> None:
    """Add the figure that `new` does not propose, as the answer shows predictions in its own."""
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    caption = "Predicted against true outputs of the test rows."
    added = {"name": "predicted-true", "kind": "predicted_true", "caption": caption}
    settings["figures"].append(added)
    path.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")


def snakemake(*arguments: str) -> None:
    """Run the workflow in the folder of the gallery, with its own configuration."""
    (RUN / "Snakefile").write_text(SNAKEFILE.format(root=ROOT), encoding="utf-8")
    command = [sys.executable, "-m", "snakemake", "--cores", "2", *arguments]
    subprocess.run(command, cwd=RUN, check=True)


def write_thumbnail(figure: Path, path: Path) -> None:
    """Write a small copy of a picture with few colours; the lower part of a long one is cut."""
    with Image.open(figure) as picture:
        flat = Image.new("RGB", picture.size, "white")
        flat.paste(picture, mask=picture.getchannel("A") if picture.mode == "RGBA" else None)
    flat = flat.resize((WIDTH, round(flat.height * WIDTH / flat.width)), Image.Resampling.LANCZOS)
    flat = flat.crop((0, 0, WIDTH, min(flat.height, MAX_HEIGHT)))
    few = flat.quantize(N_COLORS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


if __name__ == "__main__":
    main()
