// Boxes to begin with. Each set is small, so that what a person adds counts. No sentence has a twin in the other box: left out, it would be
// taken for its twin.

/** name -> boxes, {name of the box: sentences} */
export const SETS = {
  "Kitchen and garden": {
    kitchen: [
      "Cut the onions and fry them in butter.",
      "The soup has to boil for an hour.",
      "Put the cake into the oven.",
      "She washed the plates and the spoons.",
      "There is milk in the fridge.",
      "Stir the sauce until it is thick.",
      "The bread is fresh and still warm.",
      "Add a little salt and pepper.",
    ],
    garden: [
      "The roses need more water.",
      "He planted beans along the fence.",
      "Birds built a nest in the old tree.",
      "The grass is too high to play on.",
      "Dig a hole and put the seeds in.",
      "Apples fell from the tree.",
      "A snail sat on the wet leaves.",
      "In spring we cut the bushes.",
    ],
  },
  "Film reviews": {
    "I liked it": [
      "It was a wonderful and warm film.",
      "The actors were brilliant.",
      "A clever story, beautifully told.",
      "This is the best film of the year.",
      "I enjoyed every minute of it.",
      "It is funny, fresh and full of surprises.",
      "I loved it from the first scene to the last.",
      "The music is lovely.",
      "A small film with a great idea.",
      "What a charming and touching comedy!",
    ],
    "I did not": [
      "Dull and boring from beginning to end.",
      "The actors were terrible.",
      "Nothing in it makes any sense.",
      "This is the worst thing that I saw this year.",
      "I hated it and so did my friends.",
      "It is slow, tired and much too long.",
      "I was bored and I left early.",
      "Such awful jokes.",
      "Somebody spent millions on this poor thing.",
      "What a sad waste of time!",
    ],
  },
  "Questions and statements": {
    question: [
      "Where is the key?",
      "What is your name?",
      "Who is that man?",
      "Why are you so late?",
      "How old is your sister?",
      "When is the next train?",
      "Where are my shoes?",
      "What do you want to eat?",
      "Who are your friends?",
      "How do I get to the station?",
      "What is the time?",
      "Do you like music?",
    ],
    statement: [
      "The shop opens at nine.",
      "My aunt works in a hospital.",
      "We walked along the river.",
      "The book has two hundred pages.",
      "He forgot his umbrella.",
      "Snow fell during the night.",
      "They painted the door green.",
      "Our team won the last match.",
      "The museum is closed on Mondays.",
      "She plays the piano very well.",
      "I saw a fox in the forest.",
      "The soup was hot and good.",
    ],
  },
  "Spam and letters from friends": {
    spam: [
      "You have won a free prize, claim it now!",
      "Buy cheap watches, only today!",
      "Send us the password of your account.",
      "Earn money fast with this free offer.",
      "Get your free gift card now!",
      "Last chance to buy everything at half price!",
      "Win a million dollars today!",
      "Dear winner, your payment is waiting.",
      "Order now and save money!",
      "Get rich with our new credit card.",
    ],
    friend: [
      "Are we still meeting at the pool on Friday?",
      "I forgot my maths book at school.",
      "My grandmother says hello to all of you.",
      "The match was cancelled because of the snow.",
      "I will call you when I am home.",
      "These are the photos of our holiday.",
      "I am sorry that I was late yesterday.",
      "We baked a cake and it was delicious.",
      "My brother broke his arm last week.",
      "Shall we walk to school together tomorrow?",
    ],
  },
};

/** The boxes of a set.
 *  @param {string} set */
export const boxesOf = (set) =>
  Object.entries(SETS[set]).map(([name, sentences]) => ({ name, text: sentences.join("\n") }));

/** Two boxes to begin with, if no set is taken. */
export const emptyBoxes = () => [1, 2].map((number) => ({ name: `box ${number}`, text: "" }));
