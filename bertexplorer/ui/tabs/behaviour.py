"""Views of many sentences at once."""

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
PROBE = View(
    "probe",
    TOPIC,
    title="Probe",
    question="Which layer knows it?",
    note=(
        "A probe shows that a property can be read from the vectors, not that the checkpoint uses it (Belinkov, 2022). "
        "The control task has random labels, one for each word or sentence: what a probe gets right there, it has "
        "learned by heart. The best layer was chosen on the held-out rows, which flatters it a little."
    ),
    examples=(
        Example("Noun or verb", "", options={"task": "part of speech"}),
        Example("One or many", "", options={"task": "number"}),
        Example("Present or past", "", options={"task": "tense"}),
        Example("Short or long", "", options={"task": "length"}),
        Example("Words swapped", "", options={"task": "word order"}),
    ),
    chips="",
    slow=True,
    needs=("rows",),
    text=False,
)
VIEWS = (SUITE, PROBE)
