"""The view of many sentences at once."""

from bertexplorer.ui.view import Example, View

TOPIC = "Behaviour"
SUITE = View(
    "suite",
    TOPIC,
    title="Suite",
    question="Is that always so?",
    note=(
        "A share holds for sentences like these, and its interval for chance in drawing them, not for their wording. "
        "“Word frequency alone” takes the pieces that the checkpoint finds likelier without any context. Stereotype "
        "pairs show a preference on the page, not what harm a program does; many published pairs are badly matched or "
        "unclear (Blodgett et al., 2021), so read the cases."
    ),
    examples=(
        Example("Everyday gaps", "", options={"suite": "everyday"}),
        Example("Agreement", "", options={"suite": "agreement"}),
        Example("Who does what", "", options={"suite": "role reversal"}),
        Example("Negation", "", options={"suite": "negation"}),
        Example("She or he", "", options={"suite": "occupations"}),
    ),
    chips="",
    slow=True,
    needs=("rows",),
    text=False,
)
VIEWS = (SUITE,)
