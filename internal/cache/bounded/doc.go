// Package bounded has maps whose size is bounded, and Words, which keeps one copy of what many have in common.
//
// What differs is which key makes room for a new one:
//
//   - Map drops the key that came first, however often it has been used since. It is for what strangers can add: whoever repeats
//     his keys cannot keep the places of others, since all of his keys leave in their turn. It costs no allocation when it is full.
//   - Cache drops the key that was used least recently. It is for results that can be had again.
package bounded
