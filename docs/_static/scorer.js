// The order of search results: pages for tasks first, pages of modules and of papers last.
var Scorer = {
  rooms: [
    ["start/", 20], ["tutorials/", 20], ["howto/", 25], ["explanation/", 10],
    ["reference/generated/", -20], ["papers/", -10], ["project/", -10],
  ],
  score: (result) => {
    const [docname, , , , score] = result;
    const room = Scorer.rooms.find(([start]) => docname.startsWith(start));
    return score + (room ? room[1] : 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
