package childset

import (
	"fmt"
	"hash/fnv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// longestName leaves room for what controllers of children put before the names of what they make.
const longestName = validation.DNS1123SubdomainMaxLength - 10

// names are those that the child of a Set for a target may have: the plain one first. The second is for when somebody has the first already: "a-b"
// for "c" and "a" for "b-c" have the same plain name.
func names(set, target string) (plain, exact string) {
	h := fnv.New32a()
	fmt.Fprintf(h, "%q %q", set, target)
	suffix := fmt.Sprintf("-%08x", h.Sum32())
	plain = set + "-" + target
	stem := plain
	if len(stem)+len(suffix) > longestName {
		stem = strings.TrimRight(stem[:longestName-len(suffix)], "-.")
	}
	if exact = stem + suffix; len(plain) > longestName {
		return exact, exact
	}
	return plain, exact
}
