"""Head roles: what each head does, and which heads behave alike."""

from bertexplorer.analysis import head_roles as analysis  # noqa: F401
from bertexplorer.figures import head_roles as figure  # noqa: F401
from bertexplorer.ui.example import Example

TITLE = "Head roles"
GROUP = "Attention"
CHIPS = ""
QUESTION = "What does each head do?"
NOTE = (
    "A head is named after where most of its attention goes on these sentences. It may do something else on others, "
    "and a pattern that is easy to see need not matter for the answer."
)
EXAMPLES = (
    Example("All heads", "The keys to the cabinet [MASK] on the table."),
    Example("Previous token", "The keys to the cabinet [MASK] on the table.", options={"pattern": "previous"}),
    Example("Resting on [SEP]", "The keys to the cabinet [MASK] on the table.", options={"pattern": "[SEP]"}),
    Example("Heads alike", "The keys to the cabinet [MASK] on the table.", options={"show": "map"}),
    Example(
        "A garden path",
        "The old man the boats, and the horse raced past the barn fell.",
        options={"on": "this text", "pattern": "entropy"},
    ),
)
