package rotation

import (
	"slices"
	"strings"
	"time"
)

// Password is one of the two that a BMC may have in the middle of a rotation.
type Password string

const (
	Old  Password = "old"
	Next Password = "next"
)

func (p Password) other() Password {
	if p == Old {
		return Next
	}
	return Old
}

const (
	// refusedMark follows the password that the BMC is known to refuse.
	refusedMark = "-refused"
	// maxTries is how often in a row the BMC may be asked with a password that may be the wrong one. The third time locks accounts.
	maxTries = 2
)

// Tries are the logins since it was last certain which password the BMC has, as far as other processes must know of them. A login is noted
// before it is made, so one that is noted may have been refused, and may never have been made. The text is in an annotation of the BMC:
// "old,next@<RFC 3339>", or "old-refused@<RFC 3339>" once the BMC has refused one, and so has the other.
//
// The process that orders the new password may itself be refused once with the old one: if the answer is lost and the session with it. That
// login is noted nowhere. So the old password is tried once less than maxTries.
type Tries struct {
	made    []Password
	refused Password
	at      time.Time // of the last
}

// ParseTries reads what String has written. What it cannot read counts as nothing.
func ParseTries(text string) (t Tries) {
	words, at, _ := strings.Cut(text, "@")
	t.at, _ = time.Parse(time.RFC3339, at)
	for word := range strings.SplitSeq(words, ",") {
		name, refused := strings.CutSuffix(word, refusedMark)
		switch p := Password(name); {
		case p != Old && p != Next:
		case refused:
			return Tries{refused: p, at: t.at}
		default:
			t.made = append(t.made, p)
		}
	}
	return t
}

func (t Tries) String() string {
	var words []string
	for _, p := range t.made {
		words = append(words, string(p))
	}
	if t.refused != "" {
		words = []string{string(t.refused) + refusedMark}
	}
	if len(words) == 0 {
		return ""
	}
	return strings.Join(words, ",") + "@" + t.at.UTC().Format(time.RFC3339)
}

// Refused is the password that the BMC is known to refuse; empty: none.
func (t Tries) Refused() Password { return t.refused }

// Refuse notes that the BMC has refused a password. So it has the other one, until it is told another.
func (t Tries) Refuse(p Password, now time.Time) Tries { return Tries{refused: p, at: now} }

// Choose says with which password to ask the BMC now. The two take turns, so that one wrong login follows another as seldom as can be. If both
// have been tried as often as is safe, Choose says until when to leave the BMC alone; after that it begins anew, for by then a BMC
// has forgotten wrong passwords.
func (t Tries) Choose(now time.Time) (p Password, until time.Time) {
	switch last := len(t.made) - 1; {
	case t.refused != "":
		return t.refused.other(), time.Time{}
	case last < 0:
		return Next, time.Time{} // between the order and the write that follows it is more time than before it
	case t.over(now) || t.safe(t.made[last].other()):
		return t.made[last].other(), time.Time{}
	case t.safe(t.made[last]):
		return t.made[last], time.Time{}
	}
	return "", t.at.Add(Rest)
}

// May says whether it is safe to try a password, and otherwise from when on it is.
func (t Tries) May(p Password, now time.Time) (until time.Time) {
	if t.refused == "" && !t.over(now) && !t.safe(p) || t.refused == p && now.Before(t.at.Add(Rest)) {
		return t.at.Add(Rest)
	}
	return time.Time{}
}

// Note adds a login that is about to be made. One of which the result is known in advance is not counted.
func (t Tries) Note(p Password, now time.Time) Tries {
	switch {
	case t.refused == p.other():
		return t
	case t.refused == p || t.over(now):
		t = Tries{}
	}
	return Tries{made: append(slices.Clone(t.made), p), at: now}
}

func (t Tries) over(now time.Time) bool { return !t.at.IsZero() && !now.Before(t.at.Add(Rest)) }

func (t Tries) safe(p Password) bool {
	n := 0
	for _, tried := range t.made {
		if tried == p {
			n++
		}
	}
	if p == Old {
		n++
	}
	return n < maxTries
}
