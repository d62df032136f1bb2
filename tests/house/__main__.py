"""Print the figures of the house: python -m tests.house."""

from tests.house.figures import figures

print("| | today | bound | asked |\n|---|---|---|---|")
for each in figures():
    print(f"| {each.name} | {each.value:,} | {each.bound:,} | {each.asked:,} |")
