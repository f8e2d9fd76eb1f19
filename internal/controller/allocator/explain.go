package allocator

import (
	"errors"
	"fmt"
	"strings"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// explained bounds how many servers are compared one by one to explain why a claim has none. One label, or none,
// needs no comparison: those counts are kept.
const explained = 1024

// Verdict says why a claim has no Server.
type Verdict struct{ Reason, Message string }

// Explain says why a claim cannot be bound now, and to how many Servers each reason applies.
func (p *Pool) Explain(c *metalv1.ServerClaim) Verdict {
	req, err := newRequest(c)
	switch {
	case errors.Is(err, errNameless):
		return Verdict{ReasonInvalidName, err.Error()}
	case err != nil:
		return Verdict{ReasonSelectorInvalid, err.Error()}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if req.server != "" {
		return p.explainNamed(req)
	}
	return p.count(req).verdict(len(p.servers), req)
}

// explainNamed explains a claim that names its server.
func (p *Pool) explainNamed(req *request) Verdict {
	s := p.servers[req.server]
	switch {
	case s == nil:
		return Verdict{ReasonServerNotFound, fmt.Sprintf("spec.serverRef: Server %q does not exist", req.server)}
	case !req.matches(s):
		return Verdict{ReasonSelectorMismatch, fmt.Sprintf("spec.serverSelector does not match Server %q that spec.serverRef names", s.name)}
	}
	is := words[s.now()]
	text := is.one
	switch s.now() {
	case free:
		if t := firstTaint(s.taints.taints, req.tolerations); t != nil {
			return Verdict{metalv1.ReasonTaintNotTolerated, fmt.Sprintf("Server %q: has the taint %s, which spec.tolerations do not tolerate", s.name, t.Key)}
		}
	case taken:
		if s.owner != "" {
			text = "belongs to claim " + s.owner
		}
	case notAvailable:
		text = "is in state " + string(s.state)
		if s.state == "" {
			text = "has no state yet"
		}
	}
	return Verdict{is.reason, fmt.Sprintf("Server %q: %s", s.name, text)}
}

// tally counts the servers that match by what keeps the claim away.
type tally struct {
	standing [standings]int
	tainted  int
	matching int
	// partly reports whether there are more servers than were compared.
	partly bool
}

// count is exact where the counts are kept, and compares at most explained servers where not.
func (p *Pool) count(req *request) tally {
	var sum tally
	terms := p.narrowest(req, func(list *posting) int { return len(list.all) })
	looks := 0
	for _, t := range terms {
		list := p.postings[t]
		if list == nil {
			continue
		}
		if req.simple {
			sum.addAll(req, list)
			continue
		}
		for _, s := range list.all {
			if looks == explained {
				sum.partly = true
				return sum
			}
			looks++
			p.visited++
			if req.matches(s) {
				sum.add(req, s)
			}
		}
	}
	return sum
}

func (t *tally) addAll(req *request, list *posting) {
	t.matching += len(list.all)
	for i, n := range list.count {
		t.standing[i] += n
	}
	for set, servers := range list.free {
		if !req.tolerates(set.taints) {
			t.tainted += len(servers)
			t.standing[free] -= len(servers)
		}
	}
}

func (t *tally) add(req *request, s *server) {
	t.matching++
	if s.counted == free && !req.tolerates(s.taints.taints) {
		t.tainted++
		return
	}
	t.standing[s.counted]++
}

// verdict gives the reason of the servers that are nearest to fitting, and the counts of all reasons.
func (t tally) verdict(all int, req *request) Verdict {
	scope := ""
	if t.partly {
		scope = fmt.Sprintf(" of the first %d compared", explained)
	}
	if t.matching == 0 {
		if all == 0 {
			return Verdict{metalv1.ReasonNoMatchingServer, "No Server exists"}
		}
		return Verdict{metalv1.ReasonNoMatchingServer, fmt.Sprintf("spec.serverSelector (%s) matches none of %d Servers%s", req.selector, all, scope)}
	}
	reason := ""
	var counts []string
	say := func(why string, n int, text string) {
		if n == 0 {
			return
		}
		if reason == "" {
			reason = why
		}
		counts = append(counts, fmt.Sprintf("%d %s", n, text))
	}
	say(metalv1.ReasonTaintNotTolerated, t.tainted, "with a taint that is not tolerated")
	for i, n := range t.standing {
		say(words[i].reason, n, words[i].several)
	}
	found := fmt.Sprintf("%d Servers match", t.matching)
	if t.matching == 1 {
		found = "1 Server matches"
	}
	return Verdict{reason, found + scope + ": " + strings.Join(counts, ", ")}
}
