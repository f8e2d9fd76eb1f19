package move

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
)

// uidForm is how the API server writes UIDs.
var uidForm = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// sorted orders objects so that each comes after its owners, and after those whose UIDs it mentions. Where two mention each other, owners come first. Whatever
// that leaves open follows the order of kinds, and age.
func sorted(objects []*object) []*object {
	objects = slices.Clone(objects)
	slices.SortStableFunc(objects, func(a, b *object) int {
		if a.kind.rank() != b.kind.rank() {
			return a.kind.rank() - b.kind.rank()
		}
		if c := strings.Compare(a.kind.String(), b.kind.String()); c != 0 {
			return c
		}
		return byAge(a, b)
	})
	s := sorting{byUID: map[types.UID]*object{}, seen: map[*object]bool{}, ready: map[*object]bool{}}
	for _, o := range objects {
		s.byUID[o.GetUID()] = o
	}
	for _, o := range objects {
		s.visit(o)
	}
	return s.done
}

type sorting struct {
	byUID map[types.UID]*object
	seen  map[*object]bool // true as soon as a visit has begun
	ready map[*object]bool // in done
	done  []*object
}

func (s *sorting) visit(o *object) {
	if o == nil || s.seen[o] {
		return
	}
	s.seen[o] = true
	for _, uid := range uidsOfOwners(o) {
		s.visit(s.byUID[uid])
	}
	for _, uid := range mentioned(o) {
		if other := s.byUID[uid]; !s.waits(other) {
			s.visit(other)
		}
	}
	s.done, s.ready[o] = append(s.done, o), true
}

// waits reports whether an owner of an object is being visited: the object comes after that.
func (s *sorting) waits(o *object) bool {
	if o == nil || s.seen[o] {
		return false
	}
	for _, uid := range uidsOfOwners(o) {
		if owner := s.byUID[uid]; owner != nil && owner != o && (s.seen[owner] && !s.ready[owner] || s.waits(owner)) {
			return true
		}
	}
	return false
}

// mentioned are the UIDs in an object, except its own.
func mentioned(o *object) (uids []types.UID) {
	text, err := json.Marshal(content(o))
	if err != nil {
		return nil // what an API has sent can be sent again
	}
	for _, uid := range uidForm.FindAll(text, -1) {
		if uid := types.UID(uid); uid != o.GetUID() && !slices.Contains(uids, uid) {
			uids = append(uids, uid)
		}
	}
	return uids
}
