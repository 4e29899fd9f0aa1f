"""The float rules of compiled passes, and how many rows and groups they take together."""

BLOCK = 1024  # groups with a sum of their own: shorter sums lose fewer bits
LANES = 8  # rows taken together; those beyond a group's end count as 0
FUSED = {"contract"}  # a * b + c in one step, as a C compiler does, without reordering
SUMS = FUSED | {"reassoc"}  # sums in another order, always the same one: several terms are added at once
