package rollout

import "time"

// Machine is what becomes unavailable.
type Machine struct {
	Name string
	// Zone and Rack are where it stands; empty: nobody says, and then it counts for the fleet alone.
	Zone, Rack string
	// Unavailable says that it is of no use now, for whatever reason.
	Unavailable bool
}

// Stand is how far an item has come.
type Stand int

// How far an item has come, with the change that is meant now.
const (
	Waiting Stand = iota // it has not begun
	Begun                // it may be doing something at any time
	Done
	Failed
)

// Item is one change of one target.
type Item struct {
	ID string
	// Machines are the names of those that are unavailable while the item does something.
	Machines []string
	Stand    Stand
	// Unready says of one that is Waiting that nobody knows yet whether it has anything to do.
	Unready bool
	// Unwell says of one that is Done that something is wrong with a machine of it.
	Unwell bool
	// Ended is when an item was done, or failed.
	Ended time.Time
	// Class is the kind of failure of one that Failed.
	Class string
	// Gate is where one that has Begun waits, whose change is complete, or one that Failed did not pass; empty: at none.
	Gate Gate
	// Skipped is how many of its machines a gate did not look at.
	Skipped int
}

// ended reports whether an item will do nothing more.
func (i *Item) ended() bool { return i.Stand == Done || i.Stand == Failed }

// Facts are everything that a decision is made of.
type Facts struct {
	Now time.Time
	// Machines are the whole fleet that the budgets are about.
	Machines []Machine
	// Items are those of one change, in the order in which they should begin.
	Items []Item
	// Others are the items of other changes of the same fleet.
	Others []Item
}
