"""Print the figures of the house, and where those are that are worse than their bounds: python -m tests.house [--quiet]."""

import sys

from tests.house.figures import figures

made = figures()
if "--quiet" not in sys.argv:
    print("| | today | bound | asked |\n|---|---|---|---|")
    for each in made:
        print(f"| {each.name} | {each.value:,} | {each.bound:,} | {each.asked:,} |")
worse = [each for each in made if each.value > each.bound]
for each in worse:
    print(f"{each.name}: {each.value:,}, more than {each.bound:,}\n    " + "\n    ".join(each.where))
sys.exit(bool(worse))
