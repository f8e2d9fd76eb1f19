package bootview

import (
	"net/netip"
	"slices"
	"sync"
)

// Instance is what a machine that runs may learn about itself.
type Instance struct {
	// Name is unique.
	Name string
	// IPs are its addresses, in any spelling; what is none is left out.
	IPs []string
	// Fields are what it is told; UserData is what its owner wrote for it. Neither may be changed afterwards.
	Fields   map[string]string
	UserData map[string][]byte
	// Site is where the machine stands; empty: the default one. Version is the resource version of the newest object that the instance
	// was made of; 0: of none. Neither decides anything here.
	Site    string
	Version uint64
}

// Instances finds them by address. The zero value is empty and not synchronised.
type Instances struct {
	mu     sync.RWMutex
	synced bool
	byName map[string]*Instance
	byIP   map[key][]*Instance

	observer Observer[*Instance]
}

// Observe has o told of every instance. It is called once, before the first instance.
func (x *Instances) Observe(o Observer[*Instance]) { x.observer = o }

// Put adds an instance, or replaces the one of its name.
func (x *Instances) Put(i Instance) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remove(i.Name)
	if x.byName == nil {
		x.byName, x.byIP = map[string]*Instance{}, map[key][]*Instance{}
	}
	x.byName[i.Name] = &i
	for _, k := range i.keys() {
		x.byIP[k] = append(x.byIP[k], &i)
	}
	x.observer.put(&i)
}

// Delete removes an instance; one that is not there is no error.
func (x *Instances) Delete(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.byName[name] != nil {
		x.remove(name)
		x.observer.deleted(name)
	}
}

func (x *Instances) remove(name string) {
	old := x.byName[name]
	if old == nil {
		return
	}
	delete(x.byName, name)
	for _, k := range old.keys() {
		left := slices.DeleteFunc(x.byIP[k], func(o *Instance) bool { return o == old })
		if x.byIP[k] = left; len(left) == 0 {
			delete(x.byIP, k)
		}
	}
}

// everyMachines are addresses that every machine has. The others of 127.0.0.0/8 are those of simulated ones: nobody calls from
// there but processes of the boot server's own host (RFC 1122 §3.2.1.3).
var everyMachines = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}

// keys are its addresses, each once, without those that every machine has.
func (i *Instance) keys() []key {
	var keys []key
	for _, ip := range i.IPs {
		k, ok := parseIP(ip)
		if a := netip.AddrFrom16(k.data).Unmap(); ok && !slices.Contains(everyMachines, a) && !a.IsLinkLocalUnicast() && !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// SetSynced says that every instance there is has been put.
func (x *Instances) SetSynced(synced bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.synced = synced
}

// Synced reports what SetSynced said last.
func (x *Instances) Synced() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.synced
}

// ByIP finds the instance of an address. An address of several is a Conflict: user data may hold secrets.
func (x *Instances) ByIP(a netip.Addr) (*Instance, Status) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if !x.synced {
		return nil, Unsynced
	}
	k, ok := ipKey(a)
	found := x.byIP[k]
	switch {
	case !ok || len(found) == 0:
		return nil, Unknown
	case len(found) > 1:
		return nil, Conflict
	}
	return found[0], Found
}
