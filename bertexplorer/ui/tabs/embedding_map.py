"""Embedding map: tokens or sentences as points, alike ones near each other."""

from bertexplorer.analysis import embedding_map as analysis  # noqa: F401
from bertexplorer.figures import embedding_map as figure  # noqa: F401
from bertexplorer.ui.example import Example

TITLE = "Map"
GROUP = "Embeddings"
CHIPS = "pick"
QUESTION = "What lies near what?"
NOTE = (
    "A map flattens hundreds of directions into two or three. With t-SNE and UMAP only who is near whom means "
    "something; the size of a cluster and the distance between two do not. The cosines in the list are of full vectors."
)
EXAMPLES = (
    Example("One sentence", "The bank by the river is steep, and the bank in town is closed.", picked="0:4-8"),
    Example("Input vectors", "The bank by the river is steep, and the bank in town is closed.", options={"layer": 0}),
    Example("Ten topics", "The judge listened to the witness.", options={"unit": "sentences", "method": "t-SNE"}),
    Example("Topics by [CLS]", "Fish swim in the river.", options={"unit": "sentences", "pooling": "CLS"}),
    Example(
        "In three dimensions",
        "The judge listened to the witness.",
        options={"unit": "sentences", "dimensions": "3-D"},
    ),
)
