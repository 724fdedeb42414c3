// Boxes to begin with. Each set is small, so that what a pupil adds counts.

/** name -> boxes, {name of the box: sentences} */
export const SETS = {
  "Film reviews": {
    "I liked it": [
      "A wonderful film with a warm heart.",
      "I laughed from beginning to end.",
      "The actors were brilliant.",
      "A clever story, beautifully told.",
      "The best evening at the cinema this year.",
      "It moved me to tears of joy.",
      "Fresh, funny and full of surprises.",
      "I would watch it again tomorrow.",
      "The music alone is worth the ticket.",
      "A small film with a great idea.",
    ],
    "I did not": [
      "A dull film without any heart.",
      "I nearly fell asleep.",
      "The actors seemed bored.",
      "The story made no sense at all.",
      "Two hours of my life that I will never get back.",
      "It was far too long and too loud.",
      "Every joke fell flat.",
      "I left before the end.",
      "The music was terrible.",
      "A big film with no idea.",
    ],
  },
  "Questions and statements": {
    question: [
      "Where do you live?",
      "Is it raining outside?",
      "How many apples are left?",
      "Who wrote this letter?",
      "Can you swim?",
      "Why is the sky blue?",
      "When does the train leave?",
      "Do cats dream?",
    ],
    statement: [
      "I live near the station.",
      "It is raining outside.",
      "Three apples are left.",
      "My sister wrote this letter.",
      "I can swim.",
      "The sky is blue.",
      "The train leaves at noon.",
      "Cats sleep a lot.",
    ],
  },
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
  "Spam and letters from friends": {
    spam: [
      "You have won a free prize, claim it now!",
      "Cheap watches, only today.",
      "Your account is locked, send us your password.",
      "Earn money fast from home.",
      "Click this link to get your gift card.",
      "Last chance: everything at half price!",
      "Our pills make you lose weight in a week.",
      "Dear winner, your payment is waiting.",
    ],
    friend: [
      "Are we still meeting at the pool on Friday?",
      "Thanks for the lovely birthday card.",
      "I forgot my maths book, can I borrow yours?",
      "Grandma says hello to all of you.",
      "The match was cancelled because of the snow.",
      "I will call you when I am home.",
      "Here are the photos of our holiday.",
      "Sorry that I was late yesterday.",
    ],
  },
};

/** The boxes of a set. */
export const boxesOf = (set) =>
  Object.entries(SETS[set]).map(([name, sentences]) => ({ name, text: sentences.join("\n") }));
