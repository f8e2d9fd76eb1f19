package shard

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
)

// Max is how many shards there can be. Each shard costs its holder a Lease to renew and a set of controllers.
const Max = 64

// Of returns the shard of what has that key, from 0 to below shards.
func Of(key string, shards int) int {
	if shards <= 1 {
		return 0
	}
	return int(hash(key) % uint64(shards)) //nolint:gosec // below shards
}

// Holders divides shards among managers: entry i is the manager that shall hold shard i, and empty if there is no manager. now are the managers that hold
// them at present, empty where nobody does; those that are not among managers do not count. The order of the managers and repetitions do not matter. No
// manager has two shards more than another.
//
// A shard stays with its holder while that does not have too many. Others go where they belong by rendezvous hashing with bounded loads: each pair of shard
// and manager has a weight, and pairs are made by weight. So all managers come to the same answer, and only those shards change hands that have to.
func Holders(now, managers []string) []string {
	shards := len(now)
	holders := make([]string, shards)
	managers = slices.Compact(slices.Sorted(slices.Values(managers)))
	if len(managers) == 0 {
		return holders
	}
	fewest, larger := shards/len(managers), shards%len(managers) // so many managers have one more
	held := map[string]int{}
	all := pairs(shards, managers)
	for _, keeps := range []bool{true, false} {
		for _, p := range all {
			if holders[p.shard] != "" || keeps && now[p.shard] != p.manager {
				continue
			}
			switch {
			case held[p.manager] < fewest:
			case held[p.manager] == fewest && larger > 0:
				larger--
			default:
				continue
			}
			held[p.manager]++
			holders[p.shard] = p.manager
		}
	}
	return holders
}

// pair is a shard and a manager that may hold it.
type pair struct {
	weight  uint64
	shard   int
	manager string
}

// pairs returns all pairs, the heaviest first.
func pairs(shards int, managers []string) []pair {
	all := make([]pair, 0, shards*len(managers))
	for i := range shards {
		for _, m := range managers {
			all = append(all, pair{hash(strconv.Itoa(i) + "/" + m), i, m})
		}
	}
	slices.SortFunc(all, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.shard, b.shard), cmp.Compare(a.manager, b.manager))
	})
	return all
}

// hash is FNV-1a, mixed once more: by itself it hardly changes the high bits of short texts that differ at their end.
func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
