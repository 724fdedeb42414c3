"""Template drawn: a row for each filling, a column for each word, the probability in the cell."""

import plotly.graph_objects as go

from bertexplorer.analysis.template import Template
from bertexplorer.figures.style import INK, MONO, SHADES, clip, finish, percent, quote, safe


def draw(result: Template) -> go.Figure:
    labels = [safe(clip(" / ".join(f), 28)) for f in result.fillings]
    words = [safe(w) for w in result.words]
    top = float(result.probabilities.max())
    fig = go.Figure(
        go.Heatmap(
            z=result.probabilities,
            x=list(range(len(words))),  # not the words: two that are clipped alike would share a column
            y=list(range(len(labels))),
            text=[[percent(float(p)) for p in row] for row in result.probabilities],
            texttemplate="%{text}",
            textfont={"size": 14, "color": INK},
            customdata=[[f"{safe(text)}<br>{word}" for word in words] for text in result.texts],
            colorscale=SHADES,
            zmin=0,
            zmax=max(top, 0.01),
            showscale=False,
            xgap=3,
            ygap=3,
            hovertemplate="%{customdata}: %{text}<extra></extra>",
        )
    )
    across = {"tickvals": list(range(len(words))), "ticktext": [safe(clip(w, 14)) for w in result.words]}
    fig.update_xaxes(side="top", showgrid=False, tickfont={"family": MONO, "size": 14}, **across)
    ticks = {"tickvals": list(range(len(labels))), "ticktext": labels}
    fig.update_yaxes(autorange="reversed", showgrid=False, **ticks)
    return finish(fig, max(360, 80 + 34 * len(labels)), margin={"l": 8, "r": 16, "t": 40, "b": 8})


def say(result: Template) -> str:
    spread = result.probabilities.max(axis=0) - result.probabilities.min(axis=0)
    word = int(spread.argmax())
    column = result.probabilities[:, word]
    high, low = int(column.argmax()), int(column.argmin())
    if len(result.fillings) == 1:
        return f"For {quote(result.texts[0])} it would put {quote(result.answers[0])}."
    if spread[word] < 0.001:
        return f"None of these words moves by 0.1 % or more between the {len(result.fillings)} sentences."
    return (
        f"{quote(result.words[word])} moves the most: {percent(float(column[high]))} for "
        f"{quote(' / '.join(result.fillings[high]))}, {percent(float(column[low]))} for "
        f"{quote(' / '.join(result.fillings[low]))}."
    )
