"""The picture of the README: 500 synthetic people, masked, attacked, and drawn.

python examples/german_people.py [PICTURE.png]
"""

import sys
from pathlib import Path

import numpy as np

import disclique as dq

LABELS = ["sex", "age_class"]

people = dq.germany(n_target=500, n_known=500, common=50, rng=np.random.default_rng(0))
known = dq.microdata(people.known, LABELS, coordinates=["lon", "lat"], name="known")

# The data holder moves every point by Gaussian noise and would publish the distances between the moved points.
rng = np.random.default_rng(1)
mask = dq.parse_mask("gaussian:sigma=0.025deg")
masked = mask.apply(dq.Points(people.target[["lon", "lat"]].to_numpy()), rng)
target = dq.microdata(people.target, LABELS, distances=masked, name="target")

# The snooper knows the mask, simulates which deviations to expect, and attacks.
result = dq.attack(target, known, agreement=dq.calibrate(mask, rng=rng).agreement(0.5), truth="id")
print(result)

title = f"500 people, masked by {mask}: {result.risk.tp} matches true (green), {result.risk.fp} false (red, dashed)"
picture = dq.plots.draw_matches(target, known, result.matches, title)
dq.plots.save_figure(picture, Path(sys.argv[1] if len(sys.argv) > 1 else "matches.png"))
