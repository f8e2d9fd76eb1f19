// Package trouble has an object say itself what `farrier why` would answer: condition Troubled holds the cause in one sentence and the next step, for
// as long as something is wrong. An object that is as it should be does not have the condition.
//
// The sentence is the diagnosis'. A controller calls Say when it is about to write status anyway, so what an object itself shows costs no write of
// its own, and Tell afterwards, which makes one event when the trouble begins, or has another cause, and one when it is over.
//
// The condition is for people: no decision reads it, and internal/architecture holds everybody to that.
package trouble
