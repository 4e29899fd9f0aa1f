"""Names of columns that belong together: those of the specification, and those that proved worth their place."""

from ltr.data.schema import Kind
from ltr.errors import count

SPECIFICATION = {
    "tool": ("tool.rel", "tool.hist", "tool.coop", "tool.struct"),
    "graph": ("graph.rel", "graph.hist", "graph.coop", "graph.struct"),
}
RECOMMENDED = "recommended"  # what a config says instead of names
FEW = 10  # training traces; measured in docs/notes/features.md
FIRST = {
    "tool": ("tool.proto", "tool.lift", "tool.clause_char", "tool.name", "tool.zero_shot"),
    "graph": ("graph.proto", "graph.near_edges", "graph.edges", "graph.cover"),
}
ALL = {
    "tool": (
        *FIRST["tool"],
        "tool.clause_words",
        "tool.words",
        "tool.known",
        "tool.talk",
        "tool.ridge",
        "tool.clause",
    ),
    "graph": (*FIRST["graph"], "graph.start", "graph.size", "graph.clauses", "graph.order"),
}
NEWCOMERS = ("tool.newcomer", "tool.newcomer_near")  # what is put beside trained columns
CORRECTIONS = "tool.corrections"  # what outcomes put beside the columns of a run
SINGLES = {
    "tool": ("tool.zero_shot", "tool.proto", "tool.ridge"),
    "graph": ("graph.proto", "graph.near_edges"),
}  # good alone
MORE = {"tool": ("tool.query_proto", "tool.bm25", "tool.char"), "graph": ()}  # beside ALL, where folds want them
PAST = ("tool.follows",)  # reads what was done before a query


def recommended_features(kind: Kind, traces: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The recommended columns for a number of training traces, and the warnings about the choice.

    >>> recommended_features("tool", 7)[1]
    ('only 7 training traces: 5 of the 11 recommended features are used; all from 10 traces on',)
    >>> recommended_features("graph", 10)[1]
    ()
    """
    if traces >= FEW:
        return ALL[kind], ()
    share = f"{len(FIRST[kind])} of the {len(ALL[kind])} recommended features are used"
    return FIRST[kind], (f"only {count(traces, 'training trace')}: {share}; all from {FEW} traces on",)
