package main

import "time"

// request is what the process of the machines is told.
type request struct {
	// Name is what the load is called.
	Name string
	// Joined has the process set up its end of the segment, Await wait until the product answers.
	Joined, Await bool

	Port     int
	Duration time.Duration
	// Known is how many machines are known, and KnownRate how many requests of theirs there are a second. First begins with the first of them, each of which then asks
	// once alone.
	Known, KnownRate int
	Once             bool
	// Strangers is how many requests of strangers there are a second, and how they ask.
	Strangers int
	As        stranger
	// Take has machines take what they are offered, and strangers of the kind decliner decline it afterwards.
	Take bool
	// Window is how many requests wait for their answer at a time, as fast as answers come; KnownRate counts for nothing then.
	Window int
}

// stranger is how strangers ask.
type stranger uint8

const (
	// inventor shows another MAC address in each request.
	inventor stranger = iota
	// loud shows the same one in all of them.
	loud
	// decliner invents clients too, each of which takes an address and declines it.
	decliner
)

// loadAnswer is what became of it.
type loadAnswer struct {
	// Asked are the requests of known machines, Answered those that were answered.
	Asked    int `json:"asked"`
	Answered int `json:"answered"`
	// Lost are those without an answer after patience.
	Lost      int           `json:"lost"`
	P50       time.Duration `json:"p50Nanoseconds"`
	P99       time.Duration `json:"p99Nanoseconds"`
	Strangers int           `json:"askedByStrangers"`
	Told      int           `json:"answersToStrangers"`
	Took      time.Duration `json:"nanoseconds"`
	// Dropped are answers that the kernel threw away before the relay read them.
	Dropped int `json:"droppedAtTheRelay"`
	// Thread is the one whose namespace the machines are in.
	Thread int `json:"thread,omitempty"`
}

// loads are the rows: known machines alone, and fewer of them among more and more strangers.
func loads(c config) []request {
	few := c.Rate / 10
	return []request{
		{Name: "known machines without an address", Port: dhcpPort, Known: c.Known, KnownRate: c.Rate, Once: true, Duration: time.Duration(c.Known) * time.Second / time.Duration(c.Rate)},
		{Name: "known machines", Port: dhcpPort, Known: c.Known, KnownRate: c.Rate, Duration: c.Duration},
		{Name: "half of them strangers", Port: dhcpPort, Known: c.Known, KnownRate: c.Rate / 2, Strangers: c.Rate / 2, As: inventor, Duration: c.Duration},
		{Name: "9 of 10 strangers", Port: dhcpPort, Known: c.Known, KnownRate: few, Strangers: c.Rate - few, As: inventor, Duration: c.Duration},
		{Name: "9 of 10 from one stranger", Port: dhcpPort, Known: c.Known, KnownRate: few, Strangers: c.Rate - few, As: loud, Duration: c.Duration},
		{Name: "9 of 10 from strangers that decline", Port: dhcpPort, Known: c.Known, KnownRate: few, Strangers: c.Rate - few, As: decliner, Take: true, Duration: c.Duration},
	}
}
