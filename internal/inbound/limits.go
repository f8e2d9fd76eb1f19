package inbound

import "fmt"

// Limits of a Budget.
type Limits struct {
	// Total is how many connections there may be, PerAddress how many of one address, and Waiting how many on which no request
	// is under way.
	Total, PerAddress, Waiting int
}

// Shares are the budgets of a process.
type Shares struct {
	// Machines are whoever stands on the provisioning network, BMCs those who send events, and Operators those who read
	// metrics, health, reports, and API servers that ask webhooks. No flood of the one takes anything from the others.
	Machines, BMCs, Operators Limits
}

const (
	// ours is the part of the descriptors that strangers never get. A request may need a descriptor beside its connection's, for a
	// cached layer or for the registry, so two thirds are just enough.
	ours = 3
	// most is what all strangers get, however many descriptors there are: twelve thousand machines at once.
	most = 16384
	// mostOfOne lets a rack of a thousand machines stand behind one address, with two connections each.
	mostOfOne = 2048
	// mostWaiting keeps connections that cost nothing to open from costing much memory here: some 20 KiB each.
	mostWaiting = 2048
	// mostOperators is for people, probes and scrapers.
	mostOperators = 512
	// fewest are what a budget has at least.
	fewest = 16
)

// Derive shares out the connections that strangers may have in a process that may open that many files. Where they are not zero, total
// and perAddress are what somebody wants machines to have.
func Derive(descriptors uint64, total, perAddress int) (Shares, error) {
	strangers := int(min(descriptors/ours, most))
	s := Shares{
		Machines:  limits(strangers*3/4, 0),
		BMCs:      limits(strangers/8, 0),
		Operators: limits(min(strangers/8, mostOperators), 0),
	}
	if total > 0 {
		if uint64(total) > descriptors/2 {
			return s, fmt.Errorf("--max-connections: %d would leave too few of the %d files that this process may open (ulimit -n, LimitNOFILE=)", total, descriptors)
		}
		s.Machines = limits(total, perAddress)
	} else if perAddress > 0 {
		s.Machines = limits(s.Machines.Total, perAddress)
	}
	if s.Machines.PerAddress > s.Machines.Total {
		return s, fmt.Errorf("--max-connections-per-address: %d is more than the %d of all addresses", perAddress, s.Machines.Total)
	}
	return s, nil
}

// limits: a quarter of a budget is for one address, so that one alone never fills it, and a quarter stays for requests that
// are under way.
func limits(total, perAddress int) Limits {
	total = max(total, fewest)
	if perAddress == 0 {
		perAddress = min(mostOfOne, max(total/4, 1))
	}
	return Limits{Total: total, PerAddress: perAddress, Waiting: min(mostWaiting, total*3/4)}
}
