package bmcsecret

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/farrier-dev/farrier/internal/cache/bounded"
)

// keptBegun bounds how many attempts are known that are written down and not yet made.
const keptBegun = 1 << 14

// Begun has the attempts that this process has written down together with the BMCSecret, and that nobody has made yet: whoever
// makes one need not write it down again. In another process they count as made, as any attempt of unknown end does.
type Begun struct {
	uids *bounded.Cache[types.UID, struct{}]
}

// NewBegun is one without attempts.
func NewBegun() *Begun { return &Begun{bounded.NewCache[types.UID, struct{}](keptBegun)} }

// Add says that the first attempt of a BMCSecret is written down.
func (b *Begun) Add(uid types.UID) {
	if b != nil {
		b.uids.Add(uid, struct{}{})
	}
}

// Has reports whether an attempt may be made without being written down.
func (b *Begun) Has(uid types.UID) bool {
	if b == nil {
		return false
	}
	_, has := b.uids.Get(uid)
	return has
}

// Spend says that the attempt is made now.
func (b *Begun) Spend(uid types.UID) {
	if b != nil {
		b.uids.Remove(uid)
	}
}
