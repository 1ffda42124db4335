"""The picture of the README: 500 synthetic people, masked, attacked, and drawn.

python examples/german_people.py [PICTURE.png]
"""

import sys
from pathlib import Path

import numpy as np

import disclique as dq
from disclique.attacks.calibration import calibrate
from disclique.masks import parse_mask
from disclique.show.plots import match_picture, save
from disclique.synthetic.people import germany

LABELS = ["sex", "age_class"]

people = germany(n_target=500, n_known=500, common=50, rng=np.random.default_rng(0))
known = dq.microdata(people.known.reset_index(drop=True), LABELS, coordinates=["lon", "lat"], name="known")

# The data holder moves every point by Gaussian noise and would publish the distances between the moved points.
rng = np.random.default_rng(1)
mask = parse_mask("gaussian:sigma=0.025deg")
holder = people.target.reset_index(drop=True)
masked = mask.apply(dq.Points(holder[["lon", "lat"]].to_numpy()), rng)
target = dq.microdata(holder, LABELS, coordinates=masked.coordinates, name="target")

# The snooper knows the mask, simulates which deviations to expect, and attacks.
result = dq.attack(target, known, agreement=calibrate(mask, rng=rng).agreement(0.5), truth="id")
print(result)

title = f"500 people, masked by {mask}: {result.risk.tp} matches true (green), {result.risk.fp} false (red, dashed)"
save(match_picture(target, known, result.matches, title), Path(sys.argv[1] if len(sys.argv) > 1 else "matches.png"))
