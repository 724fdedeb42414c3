"""Plain sentences, used if people bring no sentences of their own: 60 on ten topics, and a sample of 20 more.

The topics serve three purposes: the baseline of random word pairs, the other senses of a word, and the first text to
search in. What heads look at is measured on the sample. All sentences are English, so for a checkpoint of another
language the baseline is that of foreign text.
"""

TOPICS: dict[str, tuple[str, ...]] = {
    "money": (
        "The bank raised the interest rate on every loan.",
        "She opened an account at the bank to save her wages.",
        "The company needs more capital to build a second factory.",
        "Prices rose faster than wages last year.",
        "He sold his shares before the market fell.",
        "The tax on petrol pays for the roads.",
    ),
    "nature": (
        "They sat on the bank of the river and watched the water.",
        "Every spring the birds come back to the lake.",
        "A bat hunts insects in the dark.",
        "The oak is the oldest plant in this forest.",
        "Heavy rain made the river rise above its banks.",
        "Wolves returned to the mountains after a hundred years.",
    ),
    "sport": (
        "He hit the ball with a wooden bat.",
        "Our team lost the match by two goals.",
        "She ran the last mile in under five minutes.",
        "The crowd cheered when the captain scored.",
        "Swimmers train in cold water before the race.",
        "A good coach keeps the players calm.",
    ),
    "food": (
        "Fresh bread smells best in the early morning.",
        "Add a little salt and let the soup cook slowly.",
        "Oranges and lemons grow well in a warm place.",
        "We had a light lunch of cheese and tomatoes.",
        "The cook cut the onions into thin slices.",
        "Children like sweet things more than bitter ones.",
    ),
    "science": (
        "Light travels faster than sound.",
        "Water turns to ice when it is cold enough.",
        "The moon goes around the earth once a month.",
        "Cells divide to make new cells.",
        "A magnet pulls iron from a distance.",
        "The new telescope can see very old stars.",
    ),
    "music": (
        "The band played until midnight.",
        "She learned the violin when she was six.",
        "Rock music grew out of blues and country songs.",
        "The singer forgot the words of the second verse.",
        "A quiet piano opened the concert.",
        "He plays the drums in a school orchestra.",
    ),
    "travel": (
        "The capital of the country lies on the coast.",
        "The train to the city leaves at noon.",
        "Turn right at the church and cross the bridge.",
        "Our hotel had a view of the harbour.",
        "The flight was late because of the fog.",
        "Tourists walk through the old streets every day.",
    ),
    "health": (
        "The doctor told her to rest for a week.",
        "He caught a cold and stayed in bed.",
        "The nurse washed the wound with clean water.",
        "Sleep helps the body to heal.",
        "Walking every day is good for the heart.",
        "The medicine must be taken after a meal.",
    ),
    "machines": (
        "The power plant makes electricity for the whole town.",
        "A broken spring stopped the clock.",
        "The computer crashed and lost the file.",
        "He struck a match to light the old lamp.",
        "The engine needs oil every thousand miles.",
        "Robots weld the doors of new cars.",
    ),
    "law": (
        "Every person has the right to a fair trial.",
        "The judge sent the thief to prison.",
        "The police found the stolen money under a rock.",
        "A new law forbids smoking in public places.",
        "The lawyer asked the witness three questions.",
        "Parliament voted against the bill.",
    ),
}
SAMPLE = (
    "The cat sat on the mat and looked at the birds.",
    "She gave her brother a book about the sea.",
    "When the rain stopped, the children ran outside.",
    "The old bridge across the river was closed last year.",
    "He said that he would come, but nobody believed him.",
    "Our train left the station ten minutes late.",
    "Paris is the capital of France and its largest city.",
    "The doctor who treated my father works in London.",
    "Most people drink coffee in the morning.",
    "If you heat water, it turns into steam.",
    "The company sold its first computer in 1976.",
    "They have lived in the same house for thirty years.",
    "A small dog was sleeping under the kitchen table.",
    "The teacher asked a question, and no one answered.",
    "Farmers in the valley grow apples, pears and grapes.",
    "The film was long, but the music was beautiful.",
    "Before the war, the town had two hospitals.",
    "Please close the window; it is cold in here.",
    "The keys to the cabinet are on the shelf.",
    "Scientists found a new kind of fish near the island.",
)
STORY = (
    "The man went to the store.",
    "He bought a gallon of milk.",
    "Then he walked home and put it in the fridge.",
    "In the morning his children drank it.",
)
